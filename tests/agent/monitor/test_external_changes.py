"""What a person edits beside the agent is told to the model before its next request, once."""

from __future__ import annotations

from pathlib import Path

from agent.events import ObservationEvent, Steer
from tests.support.bench import Bench, bench
from tests.support.cli import call
from tools.fs.file_tools import read, write
from tools.shell.shell_tool import shell

NOTE = "Changed by me or another program, not by you: "


def notes(it: Bench) -> list[str]:
    return [event.text for event in it.events if isinstance(event, Steer)]


def test_a_file_that_was_read_and_then_edited_by_a_person_is_told_at_the_next_request(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("read", path="a.txt")]},
        {"text": "Ok.", "expect": ["Changed by me or another program, not by you: a.txt."]},
    ]
    it = bench(tmp_path, turns, [read])
    file = it.runtime.workspace.root / "a.txt"
    file.write_text("old\n")

    def edit(event: object) -> None:
        if isinstance(event, ObservationEvent):
            file.write_text("a person's\n")

    it.runtime.session.subscribe(edit)
    assert it.turn("look").exit_code == 0
    assert len(notes(it)) == 1


def test_what_the_session_itself_changed_is_not_told(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("write", path="a.txt", content="one\n")]},
        {"calls": [call("read", path="a.txt")]},
        {"calls": [call("shell", command="echo two > a.txt; echo x > b.txt")]},
        {"calls": [call("read", path="b.txt")]},
        {"text": "Ok."},
        {"text": "Still ok."},
    ]
    it = bench(tmp_path, turns, [read, write, shell])
    it.turn("go")
    it.turn("and?")
    assert notes(it) == []


def test_what_changed_between_two_turns_is_told_once_whether_it_was_read_or_not(tmp_path: Path) -> None:
    turns = [
        {"calls": [call("write", path="a.txt", content="one\n"), call("read", path="gone.txt")]},
        {"text": "Ok."},
        {"text": "I see."},
        {"text": "Yes."},
    ]
    it = bench(tmp_path, turns, [read, write])
    root = it.runtime.workspace.root
    (root / "gone.txt").write_text("x\n")
    it.turn("go")
    (root / "gone.txt").unlink()
    (root / "fresh.txt").write_text("a person's\n")
    it.turn("what now?")
    it.turn("sure?")
    assert len(notes(it)) == 1
    assert NOTE in notes(it)[0]
    assert "fresh.txt (new)" in notes(it)[0]
    assert "gone.txt (gone)" in notes(it)[0]
    assert "a.txt" not in notes(it)[0]
