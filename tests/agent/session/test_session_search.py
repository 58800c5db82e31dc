"""The search over sessions is a cache: what is wrong with it costs time and no answer."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.events import Prompt
from agent.session.log import Session
from agent.session.session_search import search_logs


def start(home: Home, root: Path, prompt: str) -> Session:
    session = Session.create(home.get_project_folder(root) / "sessions")
    session.append(Prompt(text=prompt))
    return session


@pytest.mark.parametrize("schema", ["create table logs (other text)", "create table texts (path text)"])
def test_words_are_found_when_the_cache_is_of_another_form(schema: str, tmp_path: Path) -> None:
    home = Home.from_environment()
    start(home, tmp_path, "mend the walrus").close()
    home.cache.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(home.cache / "search.sqlite")) as db:
        db.execute(schema)
    assert [hit.event for hit in search_logs(home, "walrus")] == ["e1"]


def test_words_are_found_while_another_process_writes_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home.from_environment()
    start(home, tmp_path, "mend the walrus").close()
    assert len(search_logs(home, "walrus")) == 1
    start(home, tmp_path, "feed the walrus").close()
    monkeypatch.setattr("agent.session.session_search.PATIENCE", 0.0)
    with contextlib.closing(sqlite3.connect(home.cache / "search.sqlite", isolation_level=None)) as db:
        db.execute("begin immediate")
        assert len(search_logs(home, "walrus")) == 2


def test_a_project_is_not_another_whose_name_is_like_its(tmp_path: Path) -> None:
    home = Home.from_environment()
    with contextlib.closing(start(home, tmp_path / "my_app", "mend the walrus")) as session:
        mine = session.folder.parent.parent
    other = mine.with_name(mine.name.replace("_", "-"))
    assert other != mine
    (other / "sessions" / "x").mkdir(parents=True)
    (other / "sessions" / "x" / "log.jsonl").write_bytes((session.folder / "log.jsonl").read_bytes())
    assert len(search_logs(home, "walrus")) == 2
    assert [hit.path for hit in search_logs(home, "walrus", project=mine)] == [session.folder]


def test_events_of_a_newer_format_are_left_for_a_program_that_knows_it(tmp_path: Path) -> None:
    home = Home.from_environment()
    session = start(home, tmp_path, "mend the walrus")
    session.close()
    log = session.folder / "log.jsonl"
    newer = b'{"v":99,"id":"e2","parent":"e1","time":2.0,"kind":"prompt","text":"feed the walrus"}\n'
    log.write_bytes(log.read_bytes() + newer)
    assert [hit.event for hit in search_logs(home, "walrus")] == ["e1"]
    log.write_bytes(log.read_bytes().replace(b'"v":99', b'"v":02'.replace(b"02", b" 2")))
    assert {hit.event for hit in search_logs(home, "walrus")} == {"e1", "e2"}, "taken in once it can be read"
