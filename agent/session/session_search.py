"""Full-text search over all sessions: an SQLite FTS5 table, updated from new events of the logs.

It is a cache next to the session index and can be deleted. Ranking is FTS5's BM25 (Robertson and Zaragoza
2009).
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.app_dirs import Home, make_private_folder
from agent.events import (
    End,
    Event,
    MessageEvent,
    NewerFormat,
    ObservationEvent,
    Prompt,
    Steer,
    Title,
    parse_event,
)
from agent.session.session_preview import list_logs
from agent.sqlite_cache import connect_with_schema, open_cache
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass

MAX_TEXT = 4_000
"""Characters of one event that are indexed: the beginning of an output shows its subject."""

PATIENCE = 5.0
"""Seconds to wait for another process that writes the cache."""

_SCHEMA = """
create table if not exists logs (path text primary key, size integer);
create virtual table if not exists texts using fts5 (
    text, path unindexed, event unindexed, kind unindexed, time unindexed, tokenize = "unicode61 tokenchars '_'"
);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One match. excerpt: some words around it, the matched words between « and »"""

    path: Path
    event: str
    kind: str
    time: float
    excerpt: str


def search_logs(home: Home, words: str, *, project: Path | None = None, limit: int = 20) -> list[SearchHit]:
    """Return the best matches of all the words in the sessions of a project (its data folder; None: of all)."""
    logs = sorted(list_logs(home.data / "projects", "*/sessions/*/log.jsonl"))
    query = build_all_words_query(words)
    if not query:
        return []
    below = f"{project}/" if project is not None else ""
    try:
        rows = _query_rows(
            open_cache(make_private_folder(home.cache) / "search.sqlite", _SCHEMA, PATIENCE),
            logs,
            query,
            below,
            limit,
        )
    except (sqlite3.Error, OSError, UserError):  # in use, full or not writable: slower, but correct
        rows = _query_rows(connect_with_schema(":memory:", _SCHEMA), logs, query, below, limit)
    return [
        SearchHit(
            path=Path(path).parent, event=event, kind=kind, time=time, excerpt=" ".join(excerpt.split())
        )
        for path, event, kind, time, excerpt in rows
    ]


def _query_rows(
    database: sqlite3.Connection, logs: Sequence[Path], query: str, below: str, limit: int
) -> list[tuple[Any, ...]]:
    """Return (path, event, kind, time, excerpt) of the best matches below a folder. Closes the database."""
    with contextlib.closing(database) as db:
        _update_tables(db, logs)
        return db.execute(
            "select path, event, kind, time, snippet(texts, 0, '«', '»', '…', 16) from texts"
            " where texts match ? and substr(path, 1, ?) = ? order by bm25(texts) limit ?",
            (query, len(below), below, limit),
        ).fetchall()


def build_all_words_query(words: str) -> str:
    """Build an FTS5 query for all words of a user's text; no part of it is an operator."""
    return " ".join(f'"{word}"' for word in re.findall(r"\w+", words))


def build_any_word_query(words: str) -> str:
    """Build an FTS5 query for any of the words."""
    return " OR ".join(f'"{word}"' for word in re.findall(r"\w+", words))


def _update_tables(db: sqlite3.Connection, logs: Sequence[Path]) -> None:
    """Index the new events of the logs; delete the entries of removed logs."""
    known: dict[str, int] = dict(db.execute("select path, size from logs"))
    for log in logs:
        done = known.pop(str(log), 0)
        with contextlib.suppress(FileNotFoundError):  # removed since it was listed
            if log.stat().st_size < done:  # the log was replaced
                db.execute("delete from texts where path = ?", (str(log),))
                done = 0
            if log.stat().st_size > done:
                size = _index_log(db, log, done)
                db.execute("insert or replace into logs values (?, ?)", (str(log), size))
    for gone in known:
        db.execute("delete from texts where path = ?", (gone,))
        db.execute("delete from logs where path = ?", (gone,))
    db.commit()


def _index_log(db: sqlite3.Connection, log: Path, start: int) -> int:
    """Index the events after byte `start`; return the end offset of the whole lines of a known format."""
    with log.open("rb") as file:
        file.seek(start)
        while (line := file.readline()).endswith(b"\n"):
            with contextlib.suppress(ValueError):  # damage is reported when the session is opened
                try:
                    event = parse_event(line)
                except NewerFormat:  # from here on left for a program that knows the format
                    return start
                if text := extract_searchable_text(event):
                    row = (text[:MAX_TEXT], str(log), event.id, event.kind, event.time)
                    db.execute("insert into texts values (?, ?, ?, ?, ?)", row)
            start += len(line)
    return start


def extract_searchable_text(event: Event) -> str:
    """Return the searchable text of an event, "" if it has none."""
    match event:
        case Prompt() | Steer() | Title():
            return event.text
        case MessageEvent():
            asked = (str(value) for each in event.actions for value in each.arguments.values())
            return "\n".join([event.text, *asked]).strip()
        case ObservationEvent():
            return event.text
        case End():
            return event.summary
        case _:
            return ""
