"""`terminal.footer` on a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.exit_codes import Exit
from tests.support import cli
from tests.support.talking import talk
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

FOOTER = "in {folder} · {branch} · {mode} · {context} · {cost}"


def test_the_footer_is_the_users_template(shop: Path) -> None:
    turns = [{"text": "Ok.", "usage": {"input": 900, "output": 90, "cost": 0.0123}}]
    with talk(shop, turns, PATCHWRIGHT_TERMINAL__FOOTER=FOOTER) as terminal:
        terminal.wait("in shop · main · workspace")
        terminal.type("go\r")
        terminal.wait("in shop · main · workspace · context 1 % · $0.0123")
        terminal.type("/quit\r")
        assert terminal.wait_for_end() == 0


def test_an_unknown_field_ends_the_start_with_one_line(shop: Path) -> None:
    env = cli.environment({"PATCHWRIGHT_TERMINAL__FOOTER": "{model} {tokens}"})
    argv = [*cli.PATCHWRIGHT, "--model", "offline"]
    with Terminal(argv, cwd=shop, env=env, columns=160) as terminal:
        assert terminal.wait_for_end() == Exit.CONFIGURATION
        assert "there is no field {tokens}" in terminal.text
        assert "There are: {model}, {mode}," in terminal.text
        assert "Traceback" not in terminal.everything
