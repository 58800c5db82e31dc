"""Completion in real shells: the script is loaded as its first line says, and Tab completes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import cli
from tests.support.cli import run
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
LOAD = {
    "bash": "source {script}",
    "zsh": "fpath+=({folder}); autoload -Uz compinit; compinit -u -d {folder}/dump",
    "fish": "source {script}",
}
CLEAR = "\x15"
"""Ctrl-U empties the line in its turn; Ctrl-C is a signal, and overtakes the keys typed after it."""

NAME = {"bash": "patchwright", "zsh": "_patchwright", "fish": "patchwright.fish"}


@pytest.fixture(params=sorted(SHELLS))
def name(request: pytest.FixtureRequest) -> str:
    """Which shell."""
    return str(request.param)


@pytest.fixture
def shell(name: str, tmp_path: Path) -> Iterator[Terminal]:
    """It has loaded its script, and the program is on its path."""
    if shutil.which(SHELLS[name][0]) is None:
        pytest.skip(f"{name} is not installed here")
    programs, scripts = tmp_path / "bin", tmp_path / "scripts"
    programs.mkdir()
    scripts.mkdir()
    for program in ("patchwright", "pw"):
        wrapper = programs / program
        wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m patchwright "$@"\n')
        wrapper.chmod(0o755)
    script = scripts / NAME[name]
    script.write_text(run("completion", name, cwd=tmp_path).out)
    env = cli.environment()
    env["PATH"] = f"{programs}:{env['PATH']}"
    env["PS1"] = "$ "
    with Terminal(SHELLS[name], cwd=tmp_path, env=env, columns=120, rows=40) as terminal:
        terminal.type(LOAD[name].format(script=script, folder=scripts) + "; echo load''ed\r")
        terminal.wait("loaded")
        yield terminal


def test_commands_options_words_and_files_are_completed_at_the_first_tab(
    name: str, shell: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "edits-of-mine.txt").touch()
    for typed, seen in (
        ("patchwright repro", "patchwright reproduce"),
        ("pw hook unin", "pw hook uninstall"),
        ("pw attempts gui", "pw attempts guide"),
        ("patchwright run --max-co", "patchwright run --max-cost"),
        ("patchwright run --mode read", "patchwright run --mode read-only"),
        ("patchwright apply edits-of", "patchwright apply edits-of-mine.txt"),
    ):
        shell.type(f"{typed}\t")
        shell.wait(seen)
        shell.type(CLEAR)
    assert "not found" not in shell.text
    assert "rror" not in shell.text
    shell.type("patchwright re\t\t")
    shell.wait("review")
    if name != "bash":  # which shows names only
        shell.wait("session's requests")
