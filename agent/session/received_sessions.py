"""Sessions that come from another machine: only those that belong to a known one are taken, and none is replaced."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from agent.events import SessionStart, parse_event
from agent.session.foreign_log import copy_foreign_session
from sandbox.fs.regular_file import MANIFEST, read_start
from sandbox.lazy_pattern import compile_lazily

_ID = compile_lazily(r"\d{8}-\d{6}-[0-9a-f]{4}", re.ASCII)
"""Of a session: see `Session.create`."""


def is_session_id(text: str) -> bool:
    """Whether a text has the form of a session's id, which is also the name of its folder."""
    return _ID.fullmatch(text) is not None


def take_sessions(received: Path, sessions: Path, root: str, started_by: str | None) -> list[str]:
    """Take a session, and those that it started, to the folder of all sessions; return their ids. Blocking.

    received: a private folder with what came, which is not trusted: of each session what `foreign_log` lets through
    root: id of the session, "" for any one; started_by: id of the session that must have started it
    """
    known = {each.name for each in sessions.iterdir()}  # one under such a name would have descendants, too
    starters = {each: by for each, by in _list_starters(received) if each not in known}
    wanted = {each for each, by in starters.items() if by == started_by and root in ("", each)}
    while more := {each for each, by in starters.items() if by in wanted} - wanted:
        wanted |= more
    return [each for each in sorted(wanted) if _take_folder(received / each, sessions / each)]


def _list_starters(received: Path) -> Iterator[tuple[str, str | None]]:
    """Yield the id of each session that can be taken, and of the one that started it."""
    with suppress(OSError):
        for folder in received.iterdir():
            if is_session_id(folder.name) and _is_plain_folder(folder):
                line = (read_start(folder / "log.jsonl", MANIFEST) or b"").partition(b"\n")[0]
                with suppress(ValueError):
                    start = parse_event(line)
                    if isinstance(start, SessionStart) and start.session == folder.name:
                        yield folder.name, start.started_by


def _is_plain_folder(folder: Path) -> bool:
    """Whether it is a folder with nothing but folders and regular files: a link may lead to the user's sessions."""
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            return False
        modes = [each.lstat().st_mode for each in folder.rglob("*")]
    except OSError:
        return False
    return all(stat.S_ISDIR(each) or stat.S_ISREG(each) for each in modes)


def _take_folder(folder: Path, target: Path) -> bool:
    """Copy what is taken over of a session's folder to a name that is free; return whether it was."""
    with TemporaryDirectory(dir=target.parent, prefix=".taken-") as making:
        copy = Path(making, folder.name)
        try:
            copy_foreign_session(folder, copy)
            target.mkdir(mode=0o700)  # a rename would replace a file
        except OSError:
            return False
        try:
            copy.rename(target)
        except OSError:
            with suppress(OSError):
                target.rmdir()
            return False
    return True
