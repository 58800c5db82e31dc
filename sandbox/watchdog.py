"""End running commands when we are killed: a shell that waits on a pipe of ours, and knows their process groups."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

_SCRIPT = """
groups=
while read -r word group; do
    case $word in
        add) groups="$groups -$group" ;;
        *) rest=; for each in $groups; do [ "$each" = "-$group" ] || rest="$rest $each"; done; groups=$rest ;;
    esac
done
[ -z "$groups" ] || kill -s KILL -- $groups
"""
"""At the end of the pipe we are gone, whatever ended us. A shell holds a megabyte and no lock of ours; a prefix
to each command that asks the kernel for the same would cost two milliseconds each time, and hold for one process."""


def ready() -> None:
    """Start the watchdog: before a program is, which would have the moment that this takes to itself."""
    _pipe(os.getpid())


@contextmanager
def watched(group: int) -> Iterator[None]:
    """Have a process group killed should we die meanwhile."""
    pipe = _pipe(os.getpid())
    _say(pipe, f"add {group}\n")
    try:
        yield
    finally:
        _say(pipe, f"drop {group}\n")


def _say(pipe: int, line: str) -> None:
    with suppress(OSError):  # somebody ended the watchdog: the commands go on without
        os.write(pipe, line.encode())


@cache
def _pipe(process: int) -> int:
    """The write end. Once for each process: a fork of ours has a watchdog of its own."""
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
            env={"PATH": os.defpath},  # not empty: a process without any is taken for one about to change
            start_new_session=True,
        ).returncode = 0
    finally:
        os.close(read_end)
    return write_end
