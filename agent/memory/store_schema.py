"""Tables of the memory, as the steps by which they came: a file of an earlier version takes those it lacks."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

_CASES = (
    """create table cases (
        id integer primary key, session text, event text, time real, source text, task text, outcome text,
        verified text, cost real, tokens integer, steps integer, places text, commands text, failures text,
        unique (session, event))""",
    """create virtual table case_words using fts5(
        task, places, failures, content='cases', content_rowid='id', tokenize='porter unicode61')""",
    """create trigger cases_in after insert on cases begin
        insert into case_words(rowid, task, places, failures)
        values (new.id, new.task, new.places, new.failures); end""",
    """create trigger cases_out after delete on cases begin
        insert into case_words(case_words, rowid, task, places, failures)
        values ('delete', old.id, old.task, old.places, old.failures); end""",
)

_LESSONS = (
    """create table lessons (
        id text primary key, kind text, claim text, use text, avoid text, purpose text, origin text, session text,
        event text, path text, tool text, language text, checks text, created real, seen real, good integer,
        bad integer, misses integer, replaced_by text)""",
    """create table uses (lesson text, session text, time real, why text, used integer, outcome text)""",
    "create index uses_of on uses (lesson)",
    "create table failures (line text primary key, cause text, count integer, time real)",
)

_NAMES = (
    "drop trigger cases_in",
    "drop trigger cases_out",
    "drop table case_words",
    "alter table cases add column names text default '[]'",
    """create virtual table case_words using fts5(
        task, places, failures, names, content='cases', content_rowid='id', tokenize='porter unicode61')""",
    """create trigger cases_in after insert on cases begin
        insert into case_words(rowid, task, places, failures, names)
        values (new.id, new.task, new.places, new.failures, new.names); end""",
    """create trigger cases_out after delete on cases begin
        insert into case_words(case_words, rowid, task, places, failures, names)
        values ('delete', old.id, old.task, old.places, old.failures, old.names); end""",
    "insert into case_words(case_words) values ('rebuild')",
)

MIGRATIONS: Sequence[Sequence[str]] = (_CASES, _LESSONS, _NAMES)
"""Statements by the version that they lead to, from 1 on. A step that was released is never changed."""

VERSION = len(MIGRATIONS)


def open_empty_tables() -> sqlite3.Connection:
    """Return tables without rows, in memory: those of a repository that has no file yet."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.row_factory = sqlite3.Row
    migrate_tables(db)
    return db


def migrate_tables(db: sqlite3.Connection) -> None:
    """Bring a file of an earlier version, or a new one, to the present tables, all or nothing."""
    db.execute("pragma journal_mode = wal")
    db.execute("begin immediate")
    with db:
        version = db.execute("pragma user_version").fetchone()[0]  # another session may have been quicker
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                db.execute(statement)
        db.execute(f"pragma user_version = {VERSION}")
