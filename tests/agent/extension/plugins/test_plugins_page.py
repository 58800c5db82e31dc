"""The examples of docs/plugins.md."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.app import app
from tests.agent.extension.plugins.plugin_folders import write
from tests.support.cli import CHECKOUT

PAGE = (CHECKOUT / "docs/plugins.md").read_text("utf-8")


def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, hooks = re.findall(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    write(tmp_path / "guard", {".claude-plugin/plugin.json": manifest, "hooks/hooks.json": hooks})
    monkeypatch.chdir(tmp_path)
    [block] = re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    [shown] = re.findall(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    pattern = ".*".join(map(re.escape, shown.split("…")))
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, (line, done.output)
        if "add" in words:
            assert re.match(pattern, done.stdout), done.stdout
