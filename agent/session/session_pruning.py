"""Pruning of sessions that are old, or too large together; never of one that is open."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from agent.session.session_index import SessionSummary
from agent.session.session_preview import list_logs
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneResult:
    """Result of a pruning or its dry run: removed sessions with bytes on disk. `kept`: bytes that remain."""

    removed: list[tuple[SessionSummary, int]]
    kept: int


def remove_old_sessions(
    found: Sequence[SessionSummary], *, older_than: float | None, keep_bytes: int | None, dry: bool = False
) -> PruneResult:
    """Remove sessions unchanged for `older_than` seconds, then the oldest until `keep_bytes` are left.

    found: newest first. `dry`: remove nothing, only report
    """
    now = time.time()
    removed: list[tuple[SessionSummary, int]] = []
    kept = 0
    for each in found:
        size = _sum_file_sizes(each.path)
        old = older_than is not None and now - each.updated > older_than
        too_much = keep_bytes is not None and kept + size > keep_bytes
        if (old or too_much) and not is_open(each.path):
            if not dry:
                shutil.rmtree(each.path, ignore_errors=True)
            removed.append((each, size))
        else:
            kept += size
    return PruneResult(removed=removed, kept=kept)


def is_open(folder: Path) -> bool:
    """Whether a process holds the session's log. A killed one has left its lock behind with its last descriptor."""
    try:
        descriptor = os.open(folder / "log.jsonl", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # two that ask do not see each other
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _sum_file_sizes(folder: Path) -> int:
    """Return the bytes of a session's files; files shared with other sessions count for each."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(Path(base) / name).st_size
    return total


def collect_snapshots(logs: Iterable[Path]) -> set[str]:
    """Return the snapshots that logs refer to. Raises OSError and UserError for one that cannot be read."""
    from agent.events import SnapshotEvent, UndoEvent
    from agent.session.log import read_events

    found: set[str] = set()
    for log in logs:
        for event in read_events(log.parent, only=_NAMING_SNAPSHOTS):
            if isinstance(event, SnapshotEvent):
                found.add(event.tree)
            elif isinstance(event, UndoEvent):
                found.update((event.before, event.after))
    return found


_NAMING_SNAPSHOTS = (b'"snapshot"', b'"undo"')
"""Bytes of lines of a log that may name a snapshot: to parse the others takes a hundred times as long."""


def prune_snapshots(project: Path) -> int:
    """Delete snapshots that no log of a project refers to; return their number. 0 while a session is open.

    project: the data folder of one project
    """
    from sandbox.errors import UserError
    from sandbox.snapshots.workspace_snapshots import Snapshots

    if not (project / "snapshots").is_dir():
        return 0
    try:
        keep = collect_snapshots(list_logs(project / "sessions"))
    except (OSError, UserError):  # an unreadable log may refer to any of them
        return 0
    snapshots = Snapshots(project, project / "snapshots")
    try:
        return snapshots.prune(sorted(keep))
    finally:
        snapshots.close()
