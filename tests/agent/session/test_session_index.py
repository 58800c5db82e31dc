"""The session index is a cache: right after any change, and rebuilt when it is lost or damaged."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from agent.app_dirs import Home
from agent.events import End, MessageEvent, Prompt, SessionStart, UsageRecord
from agent.session.log import Session
from agent.session.session_index import load_session_summaries


def start(home: Home, root: Path, prompt: str, outcome: str = "") -> Session:
    session = Session.create(home.get_project_folder(root) / "sessions")
    session.append(
        SessionStart(session=session.id, project=str(root), model="m", mode="workspace", version="0")
    )
    session.append(Prompt(text=f"{prompt}\nmore"))
    session.append(MessageEvent(text="hm", usage=UsageRecord(input=5, cost=0.25)))
    if outcome:
        session.append(End(outcome=outcome))
    return session


def test_sessions_are_listed_newest_first_by_project(tmp_path: Path) -> None:
    home = Home.from_environment()
    first = start(home, tmp_path / "a", "fix the cart", "done")
    first.close()
    second = start(home, tmp_path / "b", "add a flag")
    listed = load_session_summaries(home)
    assert {each.id for each in listed} == {first.id, second.id}
    mine = load_session_summaries(home, tmp_path / "a")
    assert [(s.id, s.title, s.outcome, s.steps, s.cost) for s in mine] == [
        (first.id, "fix the cart", "done", 1, 0.25)
    ]
    assert load_session_summaries(home, tmp_path / "b")[0].outcome == "unfinished"
    second.append(End(outcome="limit"))
    second.close()
    assert load_session_summaries(home, tmp_path / "b")[0].outcome == "limit"


def test_a_lost_or_damaged_index_is_made_again(tmp_path: Path) -> None:
    home = Home.from_environment()
    start(home, tmp_path, "one", "done").close()
    before = load_session_summaries(home)
    cache = home.cache / "sessions.sqlite"
    cache.unlink()
    assert load_session_summaries(home) == before
    cache.write_bytes(b"not a database at all" * 100)
    assert load_session_summaries(home) == before


def test_a_session_of_a_newer_format_is_listed_beside_the_others(tmp_path: Path) -> None:
    home = Home.from_environment()
    newer, other = start(home, tmp_path, "one", "done"), start(home, tmp_path, "two", "done")
    for session in (newer, other):
        session.close()
    with (newer.folder / "log.jsonl").open("ab") as log:
        log.write(b'{"v":99,"id":"e9","parent":"e8","time":2.0,"kind":"prompt","text":"x"}\n')
    assert {each.id for each in load_session_summaries(home)} == {newer.id, other.id}


def test_a_deleted_session_is_no_longer_listed(tmp_path: Path) -> None:
    import shutil

    home = Home.from_environment()
    session = start(home, tmp_path, "one", "done")
    session.close()
    assert len(load_session_summaries(home)) == 1
    shutil.rmtree(session.folder)
    start(home, tmp_path, "two", "done").close()
    assert [each.title for each in load_session_summaries(home)] == ["two"]


def test_an_index_of_another_format_or_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    home = Home.from_environment()
    start(home, tmp_path, "one", "done").close()
    before = load_session_summaries(home)
    cache = home.cache / "sessions.sqlite"
    cache.unlink()
    with contextlib.closing(sqlite3.connect(cache)) as db:
        db.execute("create table sessions (path text, mtime integer, size integer)")
        db.commit()
    assert load_session_summaries(home) == before
    cache.unlink()
    cache.mkdir()
    assert load_session_summaries(home) == before
