"""The traces of a session and of those that it started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packages.trace.rows.session_trace import SessionTrace

DEEPEST = 4
"""Levels of sessions below the traced one that are read."""


def read_traces(folder: Path) -> list[SessionTrace]:
    """Return the trace of a session, then those of the sessions that it started. Raises OSError, NewerFormat."""
    first = SessionTrace(folder)
    first.read_new_lines()
    return [first, *_read_children(first, {first.id}, DEEPEST)]


def read_new_children(traces: list[SessionTrace]) -> Iterator[SessionTrace]:
    """Yield the traces of sessions that these started since they were read."""
    seen = {each.id for each in traces}
    for each in list(traces):
        yield from _read_children(each, seen, 1)


def _read_children(above: SessionTrace, seen: set[str], depth: int) -> Iterator[SessionTrace]:
    for name in above.branches:
        folder = above.folder.parent / name
        if name in seen or Path(name).name != name or not name or not _has_log(folder):
            continue
        seen.add(name)
        trace = SessionTrace(folder)
        trace.read_new_lines()
        yield trace
        if depth > 1:
            yield from _read_children(trace, seen, depth - 1)


def _has_log(folder: Path) -> bool:
    """Return whether a folder has a log that is no link. Names in a damaged log may be longer than any file's."""
    log = folder / "log.jsonl"
    try:
        return log.is_file() and not log.is_symlink()
    except OSError:
        return False
