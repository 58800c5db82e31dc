"""/mode and /approval on a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import cli
from tests.support.cli import call, git, script
from tests.support.terminal import Terminal


@pytest.mark.slow
def test_how_far_the_session_reaches_is_shown_and_changed(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q")
    turns = [{"calls": [call("write", path="a.txt", content="a\n")]}, {"text": "Wrote it."}]
    argv = [*cli.PATCHWRIGHT, "--model", script(tmp_path, turns), "--mode", "read-only"]
    with Terminal(argv, cwd=root, env=cli.environment(), columns=100) as terminal:
        terminal.wait("\nread-only ·")
        terminal.type("\x1b[Z")  # never wider than what was asked for
        terminal.wait("auto is left out: the mode is set to read-only")
        terminal.type("/status\r")
        terminal.wait("rules     none of yours")
        assert "mode      read-only: look, run, write nothing." in terminal.text
        terminal.type("/mode\r")
        terminal.wait("* read-only")
        terminal.type("/mode everything\r")
        terminal.wait("Choose one of: read-only, workspace, full.")
        terminal.type("/mode workspace\r")
        terminal.wait("mode: workspace")
        terminal.type("/approval never\r")
        terminal.wait("\nnever ·")
        terminal.type("write it\r")
        terminal.wait("Wrote it.")
        assert (root / "a.txt").read_text() == "a\n"
        terminal.type("/quit\r")
        assert terminal.wait_for_end() == 0
