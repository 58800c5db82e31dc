"""Bound a command as a whole by a control group (version 2), where we may make one.

Limits of a process hold for each of its children anew, and those of a user do not hold for root. A group counts all
processes of a command together. One may be made where an ancestor of our own group is delegated to us: a systemd user
session, most containers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from sandbox.process.command import Limits

CONTROLLERS = ("memory", "pids")
"""The controllers that bound a command; one is enough for a group to be of use."""


class ControlGroup:
    """A group of one command, an empty folder of the kernel's file system. folder: None where none could be made"""

    def __init__(self, folder: Path | None, memory: int) -> None:
        self._folder = folder
        self._memory = memory

    def build_join_prefix(self) -> tuple[str, ...]:
        """Return a prefix for an argv, outside the sandbox: all processes are in the group from the start."""
        if self._folder is None:
            return ()
        return ("/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"', str(self._folder / "cgroup.procs"))

    def add_process(self, process: int) -> None:
        """Add a process that has no children yet."""
        if self._folder is not None:
            with suppress(OSError):  # it has ended
                (self._folder / "cgroup.procs").write_text(str(process))

    def explain_kill(self) -> str:
        """Return a clause if the kernel ended the command because of its memory, else ""."""
        if self._folder is None:
            return ""
        with suppress(OSError, ValueError):  # a group without the memory controller
            events = dict(line.split() for line in (self._folder / "memory.events").read_text().splitlines())
            if int(events.get("oom_kill", 0)):
                return f"its processes needed more than {self._memory >> 20} MiB of memory"
        return ""


@contextmanager
def open_control_group(limits: Limits, parent: Path | None = None) -> Iterator[ControlGroup]:
    """Make a group with these limits; finally kill what is in it and remove it.

    parent: the group to make it in, by default the one that `find_delegated_group` finds
    """
    parent = parent or find_delegated_group()
    memory = limits.total_memory or compute_total_memory()
    folder = _make_group(parent, limits, memory) if parent else None
    try:
        yield ControlGroup(folder, memory)
    finally:
        if folder is not None:
            with suppress(OSError):  # Linux before 5.14: then the command's own end has to do
                (folder / "cgroup.kill").write_text("1")
            with suppress(OSError):  # a process stuck in the kernel; the next start removes the folder
                folder.rmdir()


def list_available_controllers() -> Sequence[str]:
    """Return those of CONTROLLERS that bound commands here; none where no group can be made."""
    parent = find_delegated_group()
    return (
        [each for each in CONTROLLERS if each in _read_words(parent / "cgroup.subtree_control")]
        if parent
        else []
    )


@lru_cache(maxsize=1)
def find_delegated_group() -> Path | None:
    """Return the nearest group around us in which we may make others that have limits; None if there is none."""
    return search_delegated_group(Path("/proc/self"))


def search_delegated_group(process: Path) -> Path | None:
    """See `find_delegated_group`. process: a folder of /proc"""
    try:
        mounts = (process / "mountinfo").read_text("utf-8", "surrogateescape").splitlines()
        groups = (process / "cgroup").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:  # not Linux
        return None
    own = next((line[3:] for line in groups if line.startswith("0::/")), "")
    top = next((line.split()[4] for line in mounts if " - cgroup2 " in line), "")
    if not own or not top or "/../" in own:  # outside of what we see
        return None
    folder, highest = Path(top, own.lstrip("/")), Path(top)
    for each in (folder, *folder.parents):
        if not each.is_relative_to(highest):
            return None
        bounds = set(CONTROLLERS) & set(_read_words(each / "cgroup.subtree_control"))
        if bounds and os.access(each, os.W_OK) and os.access(each / "cgroup.procs", os.W_OK):
            return each
    return None


def compute_total_memory() -> int:
    """Return four fifths of the machine's memory: the rest keeps the user's other programs going."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 5 * 4


def _make_group(parent: Path, limits: Limits, memory: int) -> Path | None:
    _remove_left_groups(parent)
    folder = parent / f"{_NAME}{os.getpid()}-{os.urandom(4).hex()}"
    try:
        folder.mkdir()
    except OSError:  # the number of groups is limited, too
        return None
    wanted = {
        "memory.max": str(memory),
        "memory.oom.group": "1",
        "pids.max": str(limits.processes) if limits.processes else "max",
    }
    for name, value in wanted.items():
        with suppress(OSError):  # this controller is not delegated
            (folder / name).write_text(value)
    return folder


_NAME = "patchwright-"


@lru_cache(maxsize=1)
def _remove_left_groups(parent: Path) -> None:
    """Remove, once, the empty groups of processes of ours that were killed."""
    for each in parent.glob(f"{_NAME}*"):
        process = each.name.removeprefix(_NAME).partition("-")[0]
        if not Path("/proc", process).exists():
            with suppress(OSError):  # not empty
                each.rmdir()


def _read_words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
