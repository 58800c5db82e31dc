"""Sessions of opencode: rows of an SQLite database, messages and their parts as JSON.

The database is read from a copy: opening it, even to read, would write files beside it. A command that failed counts
as completed there; its exit status tells.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from packages.setup.sessions.foreign_turns import (
    Answered,
    Called,
    ForeignSession,
    Replied,
    Said,
    get_table,
    get_text,
)
from sandbox.errors import Fault, UserError

_SILENT = ("step-start", "step-finish", "patch", "snapshot")
"""Parts that say where a step begins and what files were."""


def find_logs() -> list[Path]:
    """Return the databases of this user."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share")
    return sorted((data / "opencode").glob("opencode*.db"))


def read_sessions(path: Path) -> Iterator[ForeignSession]:
    """Yield the sessions of a database, the oldest first. Raises UserError for none."""
    with tempfile.TemporaryDirectory(prefix="patchwright-import-") as scratch:
        for each in (path, path.with_name(f"{path.name}-wal")):
            if each.exists():
                shutil.copyfile(each, Path(scratch, each.name))
        try:
            with closing(sqlite3.connect(Path(scratch, path.name))) as database:
                yield from _read_database(database)
        except sqlite3.Error as error:
            raise UserError(
                Fault.USAGE, f"{str(path)!r} is no database of opencode: {error}", "Name its opencode.db."
            ) from None


def _read_database(database: sqlite3.Connection) -> Iterator[ForeignSession]:
    rows = database.execute(
        "select id, directory, parent_id, time_created from session order by time_created"
    )
    for key, folder, parent, started in rows.fetchall():
        if parent:
            continue
        session = ForeignSession(key=str(key), folder=str(folder or ""), started=str(started or ""))
        children = database.execute("select count(*) from session where parent_id = ?", (key,))
        if number := children.fetchone()[0]:
            session.left["session of a sub-agent"] += number
        messages = database.execute(
            "select id, data from message where session_id = ? order by time_created, id", (key,)
        )
        for name, data in messages.fetchall():
            parts = database.execute("select data from part where message_id = ? order by id", (name,))
            _take_message(session, _parse(data, session), [_parse(part, session) for (part,) in parts])
        yield session


def _parse(data: object, session: ForeignSession) -> Mapping[str, Any]:
    try:
        found = json.loads(data) if isinstance(data, str | bytes) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        session.left["damaged row"] += 1
        return {}
    return found


def _take_message(
    session: ForeignSession, message: Mapping[str, Any], parts: list[Mapping[str, Any]]
) -> None:
    if message.get("role") == "user":
        texts = []
        for part in parts:
            if part.get("type") == "text" and not (part.get("synthetic") or part.get("ignored")):
                texts.append(get_text(part, "text"))
            else:
                session.left[_name_part(part)] += 1
        if text := "\n".join(filter(None, texts)).strip():
            session.steps.append(Said(text=text))
        return
    reply = Replied(model=get_text(message, "modelID"))
    results = []
    for part in parts:
        kind = part.get("type")
        if kind == "text" and not part.get("synthetic"):
            reply.text = "\n".join(filter(None, (reply.text, get_text(part, "text"))))
        elif kind == "tool":
            call, state = get_text(part, "callID"), get_table(part, "state")
            reply.actions.append(
                Called(call=call, tool=get_text(part, "tool"), arguments=get_table(state, "input"))
            )
            results.append(_read_result(call, state))
        elif kind not in _SILENT:
            session.left[_name_part(part)] += 1
    if reply.text or reply.actions:
        session.steps += [reply, *results]


def _read_result(call: str, state: Mapping[str, Any]) -> Answered:
    status = get_table(state, "metadata").get("exit")
    failed = state.get("status") == "error" or (isinstance(status, int) and status != 0)
    text = get_text(state, "output") or get_text(state, "error")
    if failed and isinstance(status, int):
        text = f"{text}\nexit {status}".strip()
    return Answered(call=call, text=text, failed=failed)


def _name_part(part: Mapping[str, Any]) -> str:
    kind = str(part.get("type", "part"))[:40]
    names = {"reasoning": "block of reasoning", "text": "message that nobody typed", "file": "attached file"}
    return names.get(kind, f"part of type {kind}")
