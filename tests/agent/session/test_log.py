"""The session log: whole after every kind of end, never lost, never shared."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.events import (
    ActionEvent,
    AskedAction,
    End,
    MessageEvent,
    ObservationEvent,
    Prompt,
    UnknownEvent,
    parse_event,
    render_event,
)
from agent.session.log import INTERRUPTED, Session, read_events
from sandbox.errors import Fault, UserError


def log_of(session: Session) -> Path:
    return session.folder / "log.jsonl"


def reopened(session: Session) -> Session:
    session.close()
    return Session.open(session.folder)


def test_events_come_back_as_they_were_written(tmp_path: Path) -> None:
    session = Session.create(tmp_path)
    session.append(Prompt(text="fix it — ünïcode\nand a second line"))
    session.append(
        MessageEvent(text="done", actions=[AskedAction(id="1", tool="read", arguments={"path": "a"})])
    )
    session.append(ObservationEvent(call="1", tool="read", text="1: x", data={"n": [1, None]}))
    written = list(session.replayed)
    again = reopened(session)
    assert list(again.replayed) == written
    assert [event.id for event in again.replayed] == ["e1", "e2", "e3"]
    assert [event.parent for event in again.replayed] == ["", "e1", "e2"]


def test_a_name_that_no_text_can_hold_does_not_spoil_the_log() -> None:
    name = b"caf\xe9.txt".decode("utf-8", "surrogateescape")
    event = parse_event(render_event(ActionEvent(call="1", tool="read", effect="read", paths=[name])))
    assert isinstance(event, ActionEvent)
    assert event.paths == ["caf?.txt"]


def test_unknown_fields_of_the_parts_of_an_event_survive_too() -> None:
    line = b'{"v":1,"id":"e1","parent":"","time":1.5,"kind":"message","actions":[{"id":"1","tool":"t","mood":"calm"}]}'
    again = json.loads(render_event(parse_event(line)))
    assert again["actions"][0]["mood"] == "calm"


def test_unknown_fields_and_unknown_kinds_survive_a_round_trip() -> None:
    line = b'{"v":1,"id":"e1","parent":"","time":1.5,"kind":"prompt","text":"x","colour":"red"}\n'
    again = json.loads(render_event(parse_event(line)))
    assert {**again, **json.loads(line)} == again, "with the defaults of fields that it did not have"
    later = b'{"v":2,"id":"e2","parent":"e1","time":2.0,"kind":"telepathy","depth":{"a":[1]}}\n'
    event = parse_event(later)
    assert isinstance(event, UnknownEvent)
    assert json.loads(render_event(event)) == json.loads(later)


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_last_line_is_cut_off_and_the_log_goes_on(tmp_path: Path, cut: int) -> None:
    session = Session.create(tmp_path)
    session.append(Prompt(text="first"))
    session.append(Prompt(text="second, which will be torn by a kill in the middle of its write"))
    session.close()
    whole = log_of(session).read_bytes()
    log_of(session).write_bytes(whole[:-cut])
    again = Session.open(session.folder)
    assert [event.id for event in again.replayed] == ["e1"]
    again.append(Prompt(text="third"))
    again.close()
    assert [getattr(event, "text", "") for event in read_events(session.folder)] == ["first", "third"]


def test_damage_in_the_middle_is_told_and_nothing_is_cut(tmp_path: Path) -> None:
    session = Session.create(tmp_path)
    session.append(Prompt(text="first"))
    session.append(Prompt(text="second"))
    session.close()
    damaged = b"\0\0garbage\n" + log_of(session).read_bytes()
    log_of(session).write_bytes(damaged)
    with pytest.raises(UserError, match="damaged after byte 0"):
        Session.open(session.folder)
    assert log_of(session).read_bytes() == damaged


def test_a_log_of_a_newer_format_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    """Not read as if it were of this one, and not taken for a torn write that is to be cut off."""
    session = Session.create(tmp_path)
    session.append(Prompt(text="first"))
    session.close()
    newer = b'{"v":3,"id":"e2","parent":"e1","time":2.0,"kind":"prompt","text":"second"}\n'
    whole = log_of(session).read_bytes() + newer
    for written in (whole, whole + newer.replace(b"e2", b"e3")):
        log_of(session).write_bytes(written)
        with pytest.raises(UserError, match="written by a newer Patchwright") as told:
            Session.open(session.folder)
        assert session.id in told.value.message
        assert "Update" in told.value.hint
        assert log_of(session).read_bytes() == written


def test_a_version_that_is_no_number_is_damage() -> None:
    with pytest.raises(ValueError, match="not a version"):
        parse_event(b'{"v":"two","kind":"prompt","text":"x"}\n')


def test_an_action_without_observation_is_answered_on_open(tmp_path: Path) -> None:
    session = Session.create(tmp_path)
    actions = [AskedAction(id="a", tool="read"), AskedAction(id="b", tool="shell")]
    session.append(MessageEvent(actions=actions))
    session.append(ActionEvent(call="a", tool="read", effect="read"))
    session.append(ObservationEvent(call="a", tool="read", text="ok"))
    session.append(ActionEvent(call="b", tool="shell", effect="execute"))
    again = reopened(session)
    again.close()
    last = list(read_events(session.folder))[-1]
    assert isinstance(last, ObservationEvent)
    assert (last.call, last.tool, last.failed, last.text) == ("b", "shell", True, INTERRUPTED)
    assert len(list(read_events(reopened(again).folder))) == 5, "a second open adds nothing"


def test_two_processes_cannot_hold_one_session(tmp_path: Path) -> None:
    session = Session.create(tmp_path)
    session.append(Prompt(text="mine"))
    with pytest.raises(UserError, match="open in another process") as refused:
        Session.open(session.folder)
    assert refused.value.fault is Fault.USAGE
    session.close()
    Session.open(session.folder).close()


@contextmanager
def forked() -> Iterator[Callable[[], None]]:
    """A child that holds what it was born with, until it is let go: it has become no other program yet."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        os.close(write_end)
        os.read(read_end, 1)
        os._exit(0)
    os.close(read_end)
    left = [write_end]

    def let_go() -> None:
        while left:
            os.close(left.pop())
            os.waitpid(child, 0)

    try:
        yield let_go
    finally:
        let_go()


def test_what_a_killed_process_has_just_forked_does_not_keep_its_session_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.create(tmp_path)
    session.append(Prompt(text="mine"))
    waits: list[float] = []
    with forked() as let_go:
        os.close(session._descriptor)  # as by a kill: nothing is released
        session._descriptor = -1

        def wait(seconds: float) -> None:
            waits.append(seconds)
            let_go()

        monkeypatch.setattr("agent.session.log.time.sleep", wait)
        Session.open(session.folder).close()
    assert len(waits) == 1


def test_a_session_that_is_closed_is_free_though_a_child_was_just_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.create(tmp_path)
    session.append(Prompt(text="mine"))
    monkeypatch.setattr("agent.session.log.LEFT_BEHIND", 0.0)
    with forked():
        session.close()
        Session.open(session.folder).close()


def test_a_missing_session_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no session 'nope'"):
        Session.open(tmp_path / "nope")


def test_logs_and_folders_are_private(tmp_path: Path) -> None:
    session = Session.create(tmp_path / "sessions")
    assert log_of(session).stat().st_mode & 0o777 == 0o600
    assert session.folder.stat().st_mode & 0o777 == 0o700


def test_a_full_disk_loses_only_the_event_being_written() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        session = Session.create(Path(folder))
        session.append(Prompt(text="kept"))
        real, session._descriptor = session._descriptor, os.open(full, os.O_WRONLY)
        seen: list[str] = []
        session.subscribe(lambda event: seen.append(event.kind))
        truncate = os.ftruncate
        with (
            pytest.MonkeyPatch.context() as patch
        ):  # /dev/full can't be truncated; the real file was not touched
            patch.setattr(os, "ftruncate", lambda fd, size: truncate(real, size))
            with pytest.raises(UserError) as error:
                session.append(End(outcome="done"))
        assert error.value.fault is Fault.STORAGE_FULL
        os.close(session._descriptor)
        session._descriptor = real
        assert session.append(End(outcome="done")).id == "e2"
        session.close()
        assert [event.kind for event in read_events(session.folder)] == ["prompt", "end"]


def test_who_does_not_want_a_session_any_more_stops_its_reading(tmp_path: Path) -> None:
    """In the middle of its log, whether that has an index or not; it can be opened again."""
    session = Session.create(tmp_path)
    for number in range(50):
        session.append(Prompt(text=f"prompt {number}"))
    session.close()
    read = 0

    class Enough(Exception):
        pass

    def proceed() -> None:
        nonlocal read
        read += 1
        if read > 20:
            raise Enough

    (session.folder / "log.index").unlink()
    with pytest.raises(Enough):
        Session.open(session.folder, proceed)
    again = Session.open(session.folder)  # its lock was given back
    again.close()
    read = 0
    again = Session.open(session.folder, proceed)
    with pytest.raises(Enough):
        list(again.replayed)
    assert read == 21
    again.replayed.proceed = lambda: None
    assert len(again.list_prompts()) == 50
    again.close()
