"""/plugins on a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.extension.plugins.plugin_install import accept_plugin, stage_plugin
from tests.agent.extension.plugins.plugin_folders import make_vendor
from tests.support.talking import ask, at_rest, leave, talk

pytestmark = pytest.mark.slow


def test_plugins_are_listed_and_shown_with_their_parts(shop: Path, tmp_path: Path) -> None:
    home = Home.from_environment()
    accept_plugin(home, stage_plugin(home, str(make_vendor(tmp_path / "guard"))))
    with talk(shop, [{"text": "Ok."}], columns=70, rows=24) as terminal:
        at_rest(terminal)
        ask(terminal, "/plugins", "Guards")
        ask(terminal, "/plugins guard", "hook guard:PreToolUse Bash 1: runs in the sandbox")
        ask(terminal, "/plugins nobody", "no plugin 'nobody'")
        leave(terminal)
