"""One agent for most tests: each start takes a second or two."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.protocols.acp.editor import Editor, Repo, call, script

COMMAND = "---\ndescription: Say hello\nargument-hint: NAME\n---\nSay hello to $ARGUMENTS.\n"


@pytest.fixture(scope="session")
def shared_editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """An editor with all abilities, whose agent serves all tests of a worker; each message that it got was valid."""
    folder = tmp_path_factory.mktemp("editor")
    home = folder / "home"
    commands = home / "patchwright" / "config" / "commands"
    commands.mkdir(parents=True)
    (commands / "hello.md").write_text(COMMAND, "utf-8")
    model = script(folder, [{"text": "default"}], "default.json")
    editor = Editor(home, "--model", model).start()
    yield editor
    assert editor.stop() == 0
    assert editor.check.checked > 0
    assert editor.check.problems == []
    assert "Traceback" not in editor.errors


@pytest.fixture
def editor(shared_editor: Editor) -> Editor:
    """The shared editor, with nothing left of another test."""
    shared_editor.asked.clear()
    shared_editor.forms.clear()
    shared_editor.buffers.clear()
    shared_editor.written.clear()
    shared_editor.fill = None
    shared_editor.choose = lambda call: "allow-once"
    shared_editor.on_update = lambda session, update: None
    shared_editor.on_read = lambda path: None
    return shared_editor


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    """A repository with a file and no tests."""
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "def total(items):\n    return sum(items[1:])\n")
    repo.commit_all("Add cart")
    return repo


FIX = call("edit", path="cart.py", old="items[1:]", new="items")
"""The edit that mends the shop."""
