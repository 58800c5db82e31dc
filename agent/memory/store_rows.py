"""Rows of the store: records as columns, and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from agent.memory.records import Case, Check, FailedCommand, KnownCommand, Lesson, Use
from sandbox.secrets.redaction import redact


def insert_case(db: sqlite3.Connection, case: Case) -> int:
    """Store a case, in place of the one of its event; return its number."""
    row = render_record(case)
    del row["id"]
    for name, texts in (("places", case.places), ("names", case.names)):
        row[name] = json.dumps([clean_text(each) for each in texts])
    for name, commands in (("commands", case.commands), ("failures", case.failures)):
        row[name] = json.dumps(
            [{key: clean_text(text) for key, text in asdict(each).items()} for each in commands]
        )
    names = ", ".join(row)
    marks = ", ".join(f":{name}" for name in row)
    same = "select id from cases where session = ? and event = ?"
    known = db.execute(same, (row["session"], row["event"])).fetchone()
    if known:
        delete_case(db, known["id"])
        row["id"], names, marks = known["id"], f"{names}, id", f"{marks}, :id"
    return int(db.execute(f"insert into cases ({names}) values ({marks})", row).lastrowid or 0)


def delete_case(db: sqlite3.Connection, number: int) -> int:
    """Delete a case; return how many there were."""
    return db.execute("delete from cases where id = ?", (number,)).rowcount


def parse_case(row: sqlite3.Row) -> Case:
    """Return the case of a row. Raises ValueError or TypeError for a row that was not written here."""
    values = {name: row[name] for name in _CASE}
    values["places"], values["names"] = tuple(json.loads(row["places"])), tuple(json.loads(row["names"]))
    values["commands"] = tuple(KnownCommand(**each) for each in json.loads(row["commands"]))
    values["failures"] = tuple(FailedCommand(**each) for each in json.loads(row["failures"]))
    return Case(**values)


def parse_lesson(row: sqlite3.Row) -> Lesson:
    """Return the lesson of a row. Raises ValueError or TypeError for a row that was not written here."""
    values = {name: row[name] for name in _LESSON}
    values["checks"] = tuple(Check(**each) for each in json.loads(row["checks"]))
    return Lesson(**values)


def read_lessons(db: sqlite3.Connection, *, replaced: bool = False) -> list[Lesson]:
    """Return lessons, the last confirmed first. replaced: those, too, whose place another one took"""
    rows = db.execute("select * from lessons where replaced_by = '' or ? order by seen desc, id", (replaced,))
    return [parse_lesson(row) for row in rows]


def write_lessons(db: sqlite3.Connection, lessons: Sequence[Lesson]) -> None:
    """Store lessons, redacted, each in place of the one with its id."""
    for each in lessons:
        row = render_record(each)
        row["checks"] = json.dumps([asdict(check) for check in each.checks])
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        db.execute(f"insert or replace into lessons ({names}) values ({marks})", row)


def parse_use(row: sqlite3.Row) -> Use:
    """Return the use of a row."""
    return Use(**{each: row[each] for each in _USE if each != "used"}, used=bool(row["used"]))


_CASE = tuple(each.name for each in fields(Case))
_LESSON = tuple(each.name for each in fields(Lesson))
_USE = tuple(each.name for each in fields(Use))


def render_record(record: Case | Lesson | Use) -> dict[str, Any]:
    """Return a record's columns; texts are redacted and such as SQLite takes."""
    found = {each.name: getattr(record, each.name) for each in fields(record)}
    return {name: clean_text(value) if isinstance(value, str) else value for name, value in found.items()}


def clean_text(text: str) -> str:
    """Return a text redacted, and such as SQLite takes."""
    return redact(text).encode("utf-8", "replace").decode()
