"""Sessions that a node sent: those of the child alone, and nothing that was there is replaced."""

from __future__ import annotations

from pathlib import Path

from agent.events import SessionStart, render_event
from agent.session.log import Session
from agent.session.received_sessions import is_session_id, take_sessions

PARENT, OWN, BELOW, FORGED, FREE, LINKED, TAKEN = (f"20260102-030405-000{each}" for each in range(7))


def write_session(folder: Path, started_by: str | None, session: str = "") -> Path:
    folder.mkdir(parents=True)
    start = SessionStart(
        session=session or folder.name,
        project="/p",
        model="m",
        mode="full",
        version="1",
        started_by=started_by,
        id="e1",
    )
    (folder / "log.jsonl").write_bytes(render_event(start))
    return folder


def test_only_the_child_and_its_descendants_are_taken(tmp_path: Path) -> None:
    received, sessions = tmp_path / "received", tmp_path / "sessions"
    write_session(sessions / PARENT, None)
    (sessions / TAKEN).write_text("was there before\n")
    (write_session(received / OWN, PARENT) / "artifacts").mkdir()
    write_session(received / BELOW, OWN)
    write_session(received / TAKEN, OWN)
    write_session(received / FREE, None)
    write_session(received / FORGED, PARENT)
    write_session(received / "20260102-030405-00ff", OWN, session=OWN)
    (write_session(received / LINKED, OWN) / "more").symlink_to(f"../{PARENT}/log.jsonl")
    for name in ("index.sqlite", "20260102-030405-00ee"):
        (received / name).write_text("not a session\n")
    write_session(received / "config", OWN)
    write_session(received / PARENT, OWN)
    before = (sessions / PARENT / "log.jsonl").read_bytes()
    assert take_sessions(received, sessions, OWN, PARENT) == [OWN, BELOW]
    assert {each.name for each in sessions.iterdir()} == {PARENT, OWN, BELOW, TAKEN}
    assert (sessions / PARENT / "log.jsonl").read_bytes() == before
    assert (sessions / TAKEN).read_text() == "was there before\n"
    assert [each.name for each in (sessions / OWN).iterdir()] == ["log.jsonl"], "an empty folder says nothing"
    assert take_sessions(tmp_path / "nothing", sessions, OWN, PARENT) == []
    assert take_sessions(received, sessions, "", None) == [FREE], "a trial that told no session"


def test_an_id_is_a_name_of_ours(tmp_path: Path) -> None:
    session = Session.create(tmp_path)
    session.close()
    assert is_session_id(session.id)
    for each in ("", "s", "/etc", "../20260102-030405-0001", f"{OWN}\n", f"{OWN}/..", OWN.upper() + "A"):
        assert not is_session_id(each)
