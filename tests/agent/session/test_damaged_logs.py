"""One damaged log ends no command of its project: the place is named, and the other sessions are listed as ever."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.app_dirs import Home
from agent.events import End, MessageEvent, NewerFormat, Prompt, SessionStart, UsageRecord, parse_event
from agent.session.log import Session, read_events
from agent.session.log_lines import DamagedLog
from agent.session.session_index import load_session_summaries
from agent.session.session_preview import preview_session
from agent.session.session_search import search_logs
from cli.commands.sessions.sessions import list_sessions
from cli.commands.sessions.undo import undo_turn
from cli.detached.run_record import RECORD, read_record
from cli.detached.run_state import load_run_states
from sandbox.errors import UserError


def start(home: Home, root: Path, prompt: str) -> Path:
    session = Session.create(home.get_project_folder(root) / "sessions")
    session.append(
        SessionStart(session=session.id, project=str(root), model="m", mode="workspace", version="0")
    )
    session.append(Prompt(text=prompt))
    session.append(MessageEvent(text="hm", usage=UsageRecord(input=5, cost=0.25)))
    session.append(End(outcome="done"))
    session.close()
    return session.folder


ODD = [
    b"\xff\xfe\x00",
    b"null",
    b"[]",
    b'"text"',
    b"{}",
    b'{"kind": []}',
    b'{"kind": {"a": 1}}',
    b'{"v": 1, "kind": "compaction", "masked": 7}',
    b'{"v": 1, "kind": "compaction", "masked": [[]]}',
    b'{"v": "x", "kind": "prompt"}',
    b'{"v": 2, "kind": "prompt", "text": 5}',
    b'{"v": 2, "id": "", "parent": "", "time": 1e400, "kind": "title", "text": "a"}',
    b'{"v": 2, "id": "", "parent": "", "time": NaN, "kind": "title", "text": "a"}',
    b'{"v": 2, "id": "", "parent": "", "time": -5e18, "kind": "title", "text": "a"}',
    b'{"v": 2, "id": "e1", "parent": "", "time": ' + b"9" * 400 + b', "kind": "title", "text": "a"}',
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"v": ' + b"9" * 5000 + b', "kind": "prompt"}',
    b"",
]


@pytest.mark.parametrize("line", ODD, ids=range(len(ODD)))
def test_an_odd_line_is_damage_with_its_place_and_the_rest_goes_on(
    line: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, root = Home.from_environment(), tmp_path
    (root / ".git").mkdir()
    bad, good = start(home, root, "first"), start(home, root, "second")
    lines = (bad / "log.jsonl").read_bytes().splitlines(keepends=True)
    (bad / "log.jsonl").write_bytes(b"".join([*lines[:2], line + b"\n", *lines[2:]]))
    place = len(lines[0]) + len(lines[1])
    with pytest.raises(DamagedLog, match=f"is damaged after byte {place}"):
        list(read_events(bad))
    assert list_sessions(root, all_projects=False, flat=True, as_json=False) == 0
    shown = capsys.readouterr().out
    assert f"damaged after byte {place}" in shown
    assert f"{good.name}" in shown
    assert {each.title for each in load_session_summaries(home, root)} == {"first", "second"}
    assert undo_turn(root, "") == 3
    assert f"left out: the log '{bad / 'log.jsonl'}' is damaged" in capsys.readouterr().err
    assert load_run_states(home, root, ended=True) == []
    assert {each.path.name for each in search_logs(home, "second")} == {good.name}
    with pytest.raises(UserError, match="damaged after byte"):
        Session.open(bad)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop"])
def test_what_is_no_file_holds_no_command_up(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, root = Home.from_environment(), tmp_path
    (root / ".git").mkdir()
    bad, good = start(home, root, "first"), start(home, root, "second")
    log = bad / "log.jsonl"
    log.unlink()
    match kind:
        case "pipe":
            os.mkfifo(log)
        case "folder":
            log.mkdir()
        case _:
            log.symlink_to("/dev/zero" if kind == "device" else "log.jsonl")
    assert list_sessions(root, all_projects=False, flat=True, as_json=False) == 0
    assert good.name in capsys.readouterr().out
    assert undo_turn(root, "") == 3
    assert load_run_states(home, root, ended=True) == []
    assert {each.path.name for each in search_logs(home, "second")} == {good.name}


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"pid": 1e999, "began": 1, "folder": "", "terminal": ""}', "null"]
)
def test_an_odd_record_of_a_run_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / RECORD).write_text(text)
    assert read_record(tmp_path) is None


def test_texts_that_no_database_takes_are_listed(tmp_path: Path) -> None:
    home = Home.from_environment()
    folder = start(home, tmp_path, "first")
    with (folder / "log.jsonl").open("ab") as log:
        log.write(b'{"v":2,"id":"e5","parent":"e4","time":5,"kind":"title","text":"a\\ud800\\u0000b"}\n')
    assert [each.title for each in load_session_summaries(home, tmp_path)] == ["a?\0b"]
    sqlite3.connect(home.cache / "sessions.sqlite").close()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just("\ud800"),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=5), each, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    number=st.integers(0, 3),
    field=st.text(max_size=4) | st.sampled_from(["v", "id", "time", "kind", "usage", "text"]),
    value=VALUES,
)
def test_no_field_of_a_line_breaks_the_list(tmp_path: Path, number: int, field: str, value: Any) -> None:
    home = Home.from_environment()
    folder = start(home, tmp_path / "shop", "first")
    path = folder / "log.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number] = json.dumps({**json.loads(lines[number]), field: value}).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    (found,) = [each for each in load_session_summaries(home) if each.path == folder]
    assert found.id == folder.name
    preview_session(folder)
    try:
        parse_event(lines[number])
    except (ValueError, NewerFormat):
        with pytest.raises(UserError):
            list(read_events(folder)) if number < 3 else Session.open(folder / "absent")


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_any_bytes_are_an_event_or_a_wrong_value(line: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert parse_event(line).kind
