"""Who started a session, and on which files: from the first event of its log."""

from __future__ import annotations

from pathlib import Path

from agent.events import SessionStart
from agent.session.log import read_events
from sandbox.errors import Fault, UserError


def read_session_start(folder: Path) -> SessionStart | None:
    """Return the first event of a session's log, None if it has none. Raises FileNotFoundError, UserError."""
    first = next(read_events(folder), None)
    return first if isinstance(first, SessionStart) else None


def check_own_files(folder: Path, root: Path) -> None:
    """Raise UserError for a child session that worked in a worktree: its changes are not of these files."""
    first = read_session_start(folder)
    if first is not None and first.started_by and first.project != str(root):
        raise UserError(
            Fault.USAGE,
            f"child session {folder.name!r} worked in a worktree, which is gone",
            f"Its changes came back as a patch to the session that started it: {first.started_by}",
        )
