"""Modules that the warm process has loaded: which more are worth it, and whether any has changed since."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from functools import partial

from sandbox.lazy_dataclass import list_with_init, make_init_of
from sandbox.lazy_pattern import compile_listed, list_compiled

FLOORS = frozenset(("patchwright", "packages", "cli", "agent", "tools", "sandbox"))


class LoadedModules:
    """The files behind what is loaded, as they were when it was."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int, int] | None] = {}
        self._passed: set[str] = set()
        self._waiting: deque[Callable[[], None]] = deque()
        self.note()

    def note(self) -> None:
        """Remember the files of modules that are new."""
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and path not in self._seen:
                self._seen[path] = _read_signature(path)

    def have_changed(self) -> bool:
        """Return whether a file of a loaded module is another one now, or gone."""
        return any(_read_signature(path) != signature for path, signature in self._seen.items())

    def learn(self, report: bytes) -> None:
        """Note what a run has needed (modules of the program and of Python, patterns and classes that it has used),
        for `prepare_next`.

        The report comes from a process that has worked on a project. It chooses among what is installed, no more.
        """
        try:
            names, patterns, classes = report.decode("utf-8").split("\0")
            used, instantiated = (list(map(int, each.split())) for each in (patterns, classes))
        except ValueError:  # the run ended amid it
            return
        fresh = [name for name in names.split() if name not in sys.modules and name not in self._passed]
        self._waiting += [
            *(partial(self._load, name) for name in fresh if _is_loadable(name)),
            *(partial(compile_listed, [number]) for number in sorted({*used} - {*list_compiled()})),
            *(partial(make_init_of, [number]) for number in sorted({*instantiated} - {*list_with_init()})),
        ]

    @property
    def has_work(self) -> bool:
        """Whether something that was learned is still to be made ready."""
        return bool(self._waiting)

    def prepare_next(self) -> None:
        """Make one thing ready: a caller that comes meanwhile waits for no more than that."""
        self._waiting.popleft()()
        if not self._waiting:
            self.note()
            gc.collect()
            gc.freeze()  # a fork then copies no page for the sake of counting

    def _load(self, name: str) -> None:
        try:
            importlib.import_module(name)
        except Exception:  # what only a run can load is loaded there
            self._passed.add(name)

    @property
    def can_fork(self) -> bool:
        """Whether nothing that was loaded has started a thread, which a fork would cut off at any place."""
        return threading.active_count() == 1


def write_report() -> bytes:
    """Return what this run has needed, for `learn` in the process that it was forked from."""
    names = (name for name in sys.modules if " " not in name and _is_loadable(name))
    numbers = (map(str, found) for found in (list_compiled(), list_with_init()))
    return "\0".join(map(" ".join, (names, *numbers))).encode()


def _is_loadable(name: str) -> bool:
    first = name.partition(".")[0]
    return (first in FLOORS or first in sys.stdlib_module_names) and name != "__main__"


def _read_signature(path: str) -> tuple[int, int, int] | None:
    try:
        info = os.stat(path)  # noqa: PTH116 (some hundred times for each start)
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino
