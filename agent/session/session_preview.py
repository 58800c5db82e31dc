"""Preview of a session before it is opened, from its index and a few lines of its log."""

from __future__ import annotations

import errno
import json
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from agent.events.goal_events import GOAL_ENDS
from agent.session.log_index import LogIndex, load_index
from sandbox.lazy_dataclass import dataclass

NO_SUCH = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
"""Error numbers for a name that is no session's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPreview:
    """Preview of a session.

    model: its first model, "" if not in the log
    unfinished: its last turn has no end, or it has a goal that is still to be reached
    cut_off: a kill ended it: its last turn has no end, or the work on its goal was not paused
    """

    id: str
    model: str
    unfinished: bool
    cut_off: bool = False


def list_logs(folder: Path, pattern: str = "*/log.jsonl") -> list[Path]:
    """Return the logs of sessions: a pipe, a device or a link in place of one would hold every command up."""
    return [each for each in folder.glob(pattern) if _is_regular(each)]


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:  # gone, or not readable
        return False


def preview_session(folder: Path) -> SessionPreview:
    """Preview a session, whose log may be open elsewhere, without validating it: `Session.open` does that.

    Raises OSError with one of the numbers `NO_SUCH` when there is none.
    """
    path = folder / "log.jsonl"
    with path.open("rb") as file:
        index = load_index(path, file)
        file.seek(index.size)
        newer = [event for event in _parse_lines(file) if event.get("kind") in ("session", "goal", *_ENDS)]
        model = next((event.get("model") for event in reversed(newer) if event["kind"] == "session"), None)
        last = next((event["kind"] for event in reversed(newer) if event["kind"] in _ENDS), None)
        for number in range(index.count, 0, -1):
            if model is not None and last is not None:
                break
            kind = index.get_kind(number)
            if last is None and kind in _ENDS:
                last = kind
            elif model is None and kind == "session":
                model = _read_event(file, index, number).get("model")
        goals = index.find_marked_places(["goal"], 1, index.count) if index.count else []
        old_goal = _read_event(file, index, goals[-1]) if goals else {}
    goal = next((event for event in reversed(newer) if event["kind"] == "goal"), old_goal)
    has_goal = goal.get("session") == folder.name and goal.get("stage") not in GOAL_ENDS
    return SessionPreview(
        id=folder.name,
        model=str(model or ""),
        unfinished=last == "prompt" or has_goal,
        cut_off=last == "prompt" or (has_goal and goal.get("stage") != "paused"),
    )


def is_child_session(folder: Path) -> bool:
    """Whether another session started this one. Raises OSError."""
    with (folder / "log.jsonl").open("rb") as file:
        return bool(next(_parse_lines(file), {}).get("started_by"))


def has_prompt(folder: Path) -> bool:
    """Whether something was asked in a session, as far as its lines can be read; damage is told by who opens it.

    Its beginning tells, so that little is read. Raises OSError.
    """
    with (folder / "log.jsonl").open("rb") as file:
        for line in file:
            if next(_parse_lines([line]), {"kind": "prompt"}).get("kind") == "prompt":
                return True
    return False


_ENDS = ("prompt", "end")
"""First and last event kind of a turn."""


def _read_event(file: BinaryIO, index: LogIndex, number: int) -> dict[str, Any]:
    start, end = index.get_span(number)
    file.seek(start)
    return next(_parse_lines([file.read(end - start)]), {})


def _parse_lines(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the events of whole lines, unvalidated; torn or damaged lines are skipped."""
    for line in lines:
        try:
            event = json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event
