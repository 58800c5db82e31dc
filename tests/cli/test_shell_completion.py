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
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    """A shell that has loaded its script, with the program on its path."""
    name = str(request.param)
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


def test_commands_groups_and_options_are_completed(shell: Terminal) -> None:
    shell.type("patchwright repl\t")
    shell.wait("patchwright replay")
    shell.type(CLEAR)
    shell.type("pw hook unin\t")
    shell.wait("pw hook uninstall")
    shell.type(CLEAR)
    shell.type("patchwright run --max-co\t")
    shell.wait("patchwright run --max-cost")
    shell.type(CLEAR)


def test_the_words_of_an_option_are_completed(shell: Terminal) -> None:
    shell.type("patchwright run --mode read\t")
    shell.wait("--mode read-only")
    shell.type(CLEAR)
