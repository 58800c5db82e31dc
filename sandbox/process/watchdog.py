"""End running commands when we are killed: a shell waits on a pipe of ours, and knows their process groups.

On request it also records the time of death: later changes are not the work of a command.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from sandbox.fs.private_files import write_private_file

_SCRIPT = """
groups=
while read -r word group; do
    case $word in
        add) groups="$groups -$group" ;;
        mark) set -- "$@" "$group" ;;
        unmark) for each; do shift; [ "$each" = "$group" ] || set -- "$@" "$each"; done ;;
        *) rest=; for each in $groups; do [ "$each" = "-$group" ] || rest="$rest $each"; done; groups=$rest ;;
    esac
done
[ -z "$groups" ] || kill -s KILL -- $groups
for each; do [ ! -e "$each" ] || echo killed >"$each"; done
"""
"""At the end of the pipe we are gone, for whatever reason. A shell uses a megabyte and holds none of our
locks; a prefix to each command that asks the kernel for the same would cost two milliseconds each time,
and cover one process only."""

PATIENCE = 2.0
"""Seconds for a watchdog to write. It has one task; after a power failure there is no watchdog."""

_ROUND = 0.01


def start_watchdog() -> None:
    """Start the watchdog before a program runs, since it would run unwatched while the watchdog starts."""
    _open_pipe(os.getpid())


@contextmanager
def watch_group(group: int) -> Iterator[None]:
    """Have a process group killed if we die meanwhile."""
    pipe = _open_pipe(os.getpid())
    _send_line(pipe, b"add %d\n" % group)
    try:
        yield
    finally:
        _send_line(pipe, b"drop %d\n" % group)


def start_death_record(place: Path) -> None:
    """Record our death, from here on, in the file `place`: see `read_death_time`."""
    name = os.fsencode(place)
    if b"\n" in name:
        return
    with suppress(OSError):  # e.g. a full disk: then the time stays unknown
        _send_line(_open_pipe(os.getpid()), b"mark %s\n" % name)
        write_private_file(place, b"")


def stop_death_record(place: Path) -> None:
    """Stop recording our death."""
    with suppress(OSError):
        place.unlink(missing_ok=True)
        _send_line(_open_pipe(os.getpid()), b"unmark %s\n" % os.fsencode(place))


def read_death_time(place: Path) -> int:
    """Return when the process died that had marked `place`, in nanoseconds since the epoch; 0 if unknown.
    Blocks: a watchdog that is about to write gets a moment."""
    for _ in range(round(PATIENCE / _ROUND)):
        try:
            if place.stat().st_size:
                return place.stat().st_mtime_ns
        except OSError:
            return 0
        time.sleep(_ROUND)
    return 0


def _send_line(pipe: int, line: bytes) -> None:
    with suppress(OSError):  # the watchdog was killed: the commands continue without it
        os.write(pipe, line)


@cache
def _open_pipe(process: int) -> int:
    """Return the write end. Once per process: a fork of ours has a watchdog of its own."""
    import subprocess

    read_end, write_end = os.pipe()
    null = subprocess.DEVNULL
    try:
        subprocess.Popen(  # never waited for: it outlives us by a moment
            ["/bin/sh", "-c", _SCRIPT],
            stdin=read_end,
            stdout=null,
            stderr=null,
            cwd="/",
            env={"PATH": os.defpath},  # not empty: a process without any is taken for one about to exec
            start_new_session=True,
        ).returncode = 0
    finally:
        os.close(read_end)
    return write_end
