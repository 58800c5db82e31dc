"""docs/coming-from.md: its example comes out as it says, and its table names commands that there are."""

from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

from cli.app import app
from cli.tui.commands.command_table import BY_NAME
from tests.support.cli import CHECKOUT

PAGE = (CHECKOUT / "docs/coming-from.md").read_text("utf-8")


def test_the_example_comes_out_as_it_says(tmp_path: Path) -> None:
    blocks = dict(re.findall(r"^```(json|text)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    (Path.home() / ".claude").mkdir(parents=True)
    (Path.home() / ".claude/settings.json").write_text(blocks["json"])
    shown = CliRunner().invoke(app, ["import", "claude", "-C", str(tmp_path)]).stdout
    assert shown.replace(str(Path.home()), "~") == blocks["text"]


def test_the_table_names_commands_that_there_are() -> None:
    rows = re.findall(r"^\|.*\| ([^|]+) \|$", PAGE.partition("## Commands")[2], re.MULTILINE)
    named = [each for row in rows for each in re.findall(r"`(/\w+)`", row)]
    assert len(named) > 10
    assert set(named) <= set(BY_NAME)
