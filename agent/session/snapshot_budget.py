"""Budget of a project's snapshots by age and size: the oldest sessions lose their undo first, and the user is told."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from agent.session.session_pruning import collect_snapshots, is_open
from sandbox.errors import UserError

MOST_BYTES = 2_000_000_000
"""Of one project: months of work in an ordinary repository."""

MOST_DAYS = 90
"""Since the last event of a session. Whoever wants its files back after that has git."""


def limit_snapshots(project: Path, *, most_bytes: int = MOST_BYTES, most_days: float = MOST_DAYS) -> str:
    """Delete the snapshots of old sessions, and of the oldest ones while all are too large.

    Return one line for the user, "" if nothing was deleted. Open sessions keep theirs; nothing is deleted while one has
    the store open.
    """
    store = project / "snapshots"
    logs = sorted((project / "sessions").glob("*/log.jsonl"), key=_read_time, reverse=True)
    since = time.time() - most_days * 86_400
    kept = [log for log in logs if _read_time(log) >= since or is_open(log.parent)]
    before = size = _measure_size(store)
    if len(kept) == len(logs) and size <= most_bytes:
        return ""
    _prune(store, kept)
    while (size := _measure_size(store)) > most_bytes and len(kept) > 1:
        opened = [log for log in kept[len(kept) // 2 :] if is_open(log.parent)]
        fewer = [*kept[: len(kept) // 2], *opened]
        if len(fewer) == len(kept) or not _prune(store, fewer):
            break
        kept = fewer
    if size >= before:
        return ""
    first = time.strftime("%Y-%m-%d", time.localtime(min(map(_read_time, kept), default=time.time())))
    return (
        f"snapshots took {before / 1e6:,.0f} MB and now take {size / 1e6:,.0f} MB: what sessions did before {first}"
        f" cannot be undone any more (kept: {most_days:g} days, {most_bytes / 1e6:,.0f} MB)"
    )


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
