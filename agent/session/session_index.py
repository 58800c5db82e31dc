"""Session index: a small SQLite cache over the logs, refreshed from those that changed. It can be deleted."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.app_dirs import Home, make_private_folder
from agent.events import End, MessageEvent, Prompt, SessionStart, SideCall, Title
from agent.session.log import read_events
from agent.session.log_lines import DamagedLog
from agent.session.session_preview import list_logs
from agent.sqlite_cache import connect_with_schema, open_cache
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass

PATIENCE = 5.0
"""Seconds to wait for another process that writes the index."""

_SCHEMA = """
drop table if exists sessions;
create table if not exists summaries (
    path text primary key, mtime integer, size integer, id text, project text, parent text,
    title text, model text, created real, updated real, steps integer, cost real, outcome text
)
"""
"""Earlier versions had a table without the parent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """Summary of one session. Times in seconds since the epoch; `cost` None: price unknown or no call.

    parent: id of the session that started it, "" for a person's
    """

    path: Path
    id: str
    project: str
    parent: str
    title: str
    model: str
    created: float
    updated: float
    steps: int
    cost: float | None
    outcome: str

    @property
    def is_empty(self) -> bool:
        """Whether nothing was asked in it: a conversation that was opened and left."""
        return not self.title and not self.steps


def load_session_summaries(home: Home, project: Path | None = None) -> list[SessionSummary]:
    """Return summaries of all sessions (of one project root), newest first; only changed logs are read.

    Those of a project include children that worked in a worktree of it.
    """
    logs = sorted(list_logs(home.data / "projects", "*/sessions/*/log.jsonl"))
    if not logs:
        return []
    try:
        rows = _refresh_rows(
            open_cache(make_private_folder(home.cache) / "sessions.sqlite", _SCHEMA, PATIENCE), logs
        )
    except (sqlite3.Error, OSError, UserError):  # in use, full or not writable: slower, but correct
        rows = _refresh_rows(connect_with_schema(":memory:", _SCHEMA), logs)
    found = [
        SessionSummary(
            path=Path(path).parent,
            id=id_,
            project=root,
            parent=parent,
            title=title,
            model=model,
            created=created,
            updated=updated,
            steps=steps,
            cost=cost,
            outcome=outcome,
        )
        for path, id_, root, parent, title, model, created, updated, steps, cost, outcome in rows
    ]
    if project is None:
        return found
    folder = home.get_project_folder(project) / "sessions"
    return [each for each in found if each.project == str(project) or each.path.parent == folder]


def _refresh_rows(database: sqlite3.Connection, logs: Sequence[Path]) -> list[tuple[Any, ...]]:
    """Return all rows, newest first, after refreshing those of changed logs. Closes the database."""
    with contextlib.closing(database) as db:
        known = {row[0]: (row[1], row[2]) for row in db.execute("select path, mtime, size from summaries")}
        for log in logs:
            try:
                status = log.stat()
            except FileNotFoundError:  # removed since it was listed
                continue
            if known.pop(str(log), None) != (status.st_mtime_ns, status.st_size):
                _store_summary(db, log, status.st_mtime_ns, status.st_size)
        db.executemany("delete from summaries where path = ?", [(path,) for path in known])
        db.commit()
        columns = "path, id, project, parent, title, model, created, updated, steps, cost, outcome"
        return db.execute(f"select {columns} from summaries order by updated desc, id desc").fetchall()


def _store_summary(db: sqlite3.Connection, log: Path, mtime: int, size: int) -> None:
    summary = _summarise_log(log)
    db.execute(
        "insert or replace into summaries values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            str(log),
            mtime,
            size,
            *(_replace_surrogates(each) for each in (summary.id, summary.project, summary.parent)),
            *(_replace_surrogates(each) for each in (summary.title, summary.model)),
            *(summary.created, summary.updated, summary.steps, summary.cost),
            _replace_surrogates(summary.outcome),
        ),
    )


def _replace_surrogates(text: str) -> str:
    """Return a text that SQLite takes."""
    return text.encode("utf-8", "replace").decode()


def _summarise_log(log: Path) -> SessionSummary:
    project = parent = title = model = ""
    created = updated = 0.0
    steps = 0
    cost: float | None = None
    outcome = "unfinished"
    try:
        for event in read_events(log.parent):
            created = created or event.time
            updated = event.time
            match event:
                case SessionStart():
                    project, model, parent = event.project, event.model, event.started_by or ""
                case Prompt():
                    title = title or event.text.strip().partition("\n")[0][:100]
                    outcome = "unfinished"
                case Title():
                    title = event.text
                case MessageEvent() | SideCall():
                    steps += isinstance(event, MessageEvent)
                    if event.usage.cost is not None:
                        cost = (cost or 0.0) + event.usage.cost
                case End():
                    outcome = event.outcome
    except DamagedLog as damage:
        outcome = f"damaged after byte {damage.start}"
    except (OSError, UserError):  # of a newer format: listed with what is known of it
        pass
    return SessionSummary(
        path=log.parent,
        id=log.parent.name,
        project=project,
        parent=parent,
        title=title,
        model=model,
        created=created,
        updated=updated,
        steps=steps,
        cost=cost,
        outcome=outcome,
    )
