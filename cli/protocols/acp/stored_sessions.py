"""Sessions on disk, as clients list and delete them."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from acp.schema import ListSessionsResponse, SessionInfo

from agent.app_dirs import Home
from agent.session.session_index import SessionSummary, load_session_summaries
from agent.session.session_pruning import is_open
from agent.workspace_root import find_workspace_root
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

PAGE = 50
"""Sessions of one answer."""


def list_sessions(home: Home, cwd: str | None, cursor: str | None) -> ListSessionsResponse:
    """Return a page of the sessions of a project, or of all, the newest first. Raises UserError.

    Sessions without a prompt, and those that a session started, are left out. cursor: of the page before
    """
    root = find_workspace_root(Path(cwd), need_git=False)[0] if cwd else None
    found = [each for each in load_session_summaries(home, root) if each.title and not each.parent]
    start = _find_start(found, cursor) if cursor else 0
    page = found[start : start + PAGE]
    more = len(found) > start + PAGE
    return ListSessionsResponse(
        sessions=[_describe_session(each) for each in page],
        next_cursor=_make_cursor(page[-1]) if more and page else None,
    )


def delete_session(home: Home, session_id: str) -> None:
    """Delete a session, and those that it started. Raises UserError for one that another process has open.

    Nothing happens if there is none: it is deleted.
    """
    chosen = _find_with_children(load_session_summaries(home), session_id)
    for each in chosen:
        if is_open(each.path):
            raise UserError(
                Fault.USAGE, f"session {each.id!r} is open in another program", "Close it there first."
            )
    for each in chosen:
        shutil.rmtree(each.path, ignore_errors=True)


def _find_with_children(summaries: Sequence[SessionSummary], session_id: str) -> list[SessionSummary]:
    """Return a session and all below it, [] if there is none."""
    found = [each for each in summaries if each.id == session_id]
    for parent in found:  # grows while it is read
        found += [each for each in summaries if each.parent == parent.id]
    return found


def _describe_session(summary: SessionSummary) -> SessionInfo:
    return SessionInfo(
        session_id=summary.id,
        cwd=summary.project,
        title=sanitize_text(summary.title) or None,
        updated_at=datetime.fromtimestamp(summary.updated, UTC).isoformat(),
    )


def _make_cursor(last: SessionSummary) -> str:
    return base64.urlsafe_b64encode(f"{last.updated!r} {last.id}".encode()).decode()


def _find_start(found: Sequence[SessionSummary], cursor: str) -> int:
    """Return the place behind the last session of the page before, also if it was used or deleted since."""
    try:
        time, _, name = base64.urlsafe_b64decode(cursor.encode()).decode().partition(" ")
        last = (float(time), name)
    except ValueError:
        raise UserError(
            Fault.USAGE, "the cursor is none that was given", "List from the beginning."
        ) from None
    return next((n for n, each in enumerate(found) if (each.updated, each.id) < last), len(found))
