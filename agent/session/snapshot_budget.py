"""Budget of a project's snapshots by age and size: the oldest sessions lose their undo first, and the user is told."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agent.session.session_preview import list_logs
from agent.session.session_pruning import collect_snapshots, is_open
from agent.session_settings import SnapshotSettings
from sandbox.errors import UserError


def limit_snapshots(project: Path, budget: SnapshotSettings) -> str:
    """Delete the snapshots of old sessions, and of the oldest ones while all are too large.

    Return one line for the user, "" if nothing was deleted. Open sessions keep theirs, and so does the one that
    `undo` would take back next; nothing is deleted while a session has the store open.
    """
    store, most_bytes = project / "snapshots", budget.megabytes * 1_000_000
    logs = sorted(list_logs(project / "sessions"), key=_read_time, reverse=True)
    since = time.time() - budget.days * 86_400
    kept = [log for log in logs if _read_time(log) >= since or is_open(log.parent)]
    before = size = _measure_size(store)
    if len(kept) == len(logs) and size <= most_bytes:
        return ""
    last = _find_undoable(logs)
    if last is not None and last not in kept:
        kept.append(last)  # older than the others
    if len(kept) < len(logs):
        _prune(store, kept)
    while (size := _measure_size(store)) > most_bytes and len(kept) > 1:
        needed = [log for log in kept[len(kept) // 2 :] if log == last or is_open(log.parent)]
        fewer = [*kept[: len(kept) // 2], *needed]
        if len(fewer) == len(kept) or not _prune(store, fewer):
            break
        kept = fewer
    if size >= before:
        return ""
    first = time.strftime("%Y-%m-%d", time.localtime(min(map(_read_time, kept), default=time.time())))
    return (
        f"snapshots took {before / 1e6:,.0f} MB and now take {size / 1e6:,.0f} MB: what sessions did before {first}"
        f" cannot be undone any more (kept: {budget.days} days, {budget.megabytes:,} MB)"
    )


def _find_undoable(logs: Sequence[Path]) -> Path | None:
    """Return the newest log with a change that was not undone; None if there is none. logs: newest first"""
    from agent.session.log import read_events
    from agent.session.undo import Timeline

    for log in logs:
        with suppress(OSError, UserError):  # a log that cannot be read keeps all snapshots anyway
            if Timeline.from_events(read_events(log.parent)).active_steps:
                return log
    return None


def _prune(store: Path, logs: Sequence[Path]) -> int:
    from sandbox.snapshots.workspace_snapshots import Snapshots

    try:
        keep = collect_snapshots(logs)
        snapshots = Snapshots(store.parent, store)
    except (OSError, UserError):  # an unreadable log may refer to any of them
        return 0
    try:
        return snapshots.prune(sorted(keep))
    finally:
        snapshots.close()


def _read_time(log: Path) -> float:
    try:
        return log.stat().st_mtime
    except OSError:  # removed meanwhile
        return 0.0


def _measure_size(store: Path) -> int:
    total = 0
    for folder, _, names in os.walk(store):
        for name in names:
            with suppress(OSError):
                total += Path(folder, name).lstat().st_size
    return total
