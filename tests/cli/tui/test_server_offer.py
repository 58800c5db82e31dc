"""An installed language server is offered after a turn that read its language: once, and stored only on a yes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.support.cli import call, run, script
from tests.support.talking import ask, at_rest, leave, talk

pytestmark = pytest.mark.slow

READ = [{"calls": [call("read", path="cart.py")]}, {"text": "It adds."}]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH whose first folder has a language server."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "basedpyright-langserver").write_text("#!/bin/sh\nexit 1\n")
    (folder / "basedpyright-langserver").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize("key", ["y", "n"])
def test_it_is_asked_once_and_a_yes_is_stored(shop: Path, path: str, key: str) -> None:
    home = Home.from_environment()
    with talk(shop, [*READ, *READ], CI="", PATH=path) as terminal:
        at_rest(terminal)
        terminal.type("what does cart.py do?\r")
        terminal.wait("Use the language server basedpyright-langserver for python?")
        terminal.wait("No, and do not ask again")
        terminal.type(key)
        if key == "y":
            terminal.wait("stored in")
        at_rest(terminal)
        ask(terminal, "and now?", "It adds.")  # the prompt comes back: nothing is asked
        leave(terminal)
    settings = home.config / "settings.toml"
    stored = settings.read_text() if settings.exists() else ""
    assert ("basedpyright-langserver --stdio" in stored) is (key == "y")


def test_a_one_shot_run_says_it_once_and_stores_nothing(shop: Path, path: str) -> None:
    model = script(shop.parent, READ)
    first, second = (
        run("run", "what does cart.py do?", "--model", model, cwd=shop, env={"CI": "", "PATH": path})
        for _ in range(2)
    )
    assert first.code == second.code == 0
    line = [each for each in first.err.splitlines() if "is installed" in each]
    assert len(line) == 1
    assert "patchwright config set language_servers.python " in line[0]
    assert "is installed" not in second.err
    assert not (Home.from_environment().config / "settings.toml").exists()
