"""Line coverage of the workspace's own files, cheap enough to take for every single test."""

from __future__ import annotations

import dis
import os
import sys
import threading
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Folders whose files are somebody else's, wherever they stand in a workspace.
FOREIGN = {"site-packages", "dist-packages", "node_modules", "__pycache__", "venv", "env"}


def lines_of(code: types.CodeType) -> set[int]:
    return {line for _, line in dis.findlinestarts(code) if line}


class Recorder:
    """Lines of the workspace's own files that run between `start` and `take`."""

    def __init__(self, root: str) -> None:
        self._root = root + os.sep
        self._names: dict[str, str] = {}
        self._seen: dict[str, set[int]] = {}
        # By identity: equal code in two files is equal, and must not be taken for one.
        self._codes: dict[int, tuple[types.CodeType, set[int]]] = {}
        self._tracers: dict[int, Any] = {}
        self._on = False
        self._waiting = False

    def name(self, path: str) -> str:
        """A source file's path relative to the root, "" for files that are not the workspace's own."""
        known = self._names.get(path)
        if known is None:
            relative = path[len(self._root) :] if path.startswith(self._root) else ""
            folders = relative.split(os.sep)[:-1]
            foreign = any(each in FOREIGN or each.startswith(".") for each in folders)
            known = self._names[path] = "" if foreign or not relative.endswith(".py") else relative
        return known

    def start_with_own_code(self) -> None:
        """Start when the first of the workspace's own modules is executed: what comes before is nobody's business here.

        Imports of a test framework would take half as long again. The hook cannot be removed, so it does next to
        nothing after that.
        """
        if not hasattr(sys, "addaudithook"):  # Python 3.7
            self.start()
            return
        self._waiting = True

        def executed(event: str, arguments: Any) -> None:
            if self._waiting and event == "exec" and self.name(getattr(arguments[0], "co_filename", "")):
                self._waiting = False
                self.start()

        sys.addaudithook(executed)

    def imported(self) -> dict[str, list[int]]:
        """What ran since `start_with_own_code`; recording stops."""
        lines = self.take()
        if not self._waiting:  # some module was the workspace's own
            self.stop()
        self._waiting = False
        return lines

    def without(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, but what it runs is not recorded: the words of a failure are not what failed."""

        def unrecorded(*arguments: Any, **options: Any) -> Any:
            self._pause()
            try:
                return function(*arguments, **options)
            finally:
                self._restart()

        return unrecorded

    def take(self) -> dict[str, list[int]]:
        lines = {name: sorted(seen) for name, seen in self._seen.items() if seen}
        self._seen.clear()
        self._tracers.clear()
        self._restart()
        return lines

    if sys.version_info >= (3, 12):
        _TOOL = 4  # the first id that no kind of tool has a claim to

        def start(self) -> None:
            monitoring = sys.monitoring
            monitoring.use_tool_id(self._TOOL, "patchwright")
            monitoring.register_callback(self._TOOL, monitoring.events.LINE, self._line)
            monitoring.set_events(self._TOOL, monitoring.events.LINE)

        def stop(self) -> None:
            sys.monitoring.set_events(self._TOOL, 0)
            sys.monitoring.free_tool_id(self._TOOL)

        def _pause(self) -> None:
            sys.monitoring.set_events(self._TOOL, 0)

        def _restart(self) -> None:
            if sys.monitoring.get_tool(self._TOOL):
                sys.monitoring.set_events(self._TOOL, sys.monitoring.events.LINE)
            sys.monitoring.restart_events()

        def _line(self, code: types.CodeType, line: int) -> Any:
            name = self.name(code.co_filename)
            if name:
                self._seen.setdefault(name, set()).add(line)
            return sys.monitoring.DISABLE

    else:

        def start(self) -> None:
            self._on = True
            self._restart()

        def stop(self) -> None:
            self._on = False
            threading.settrace(None)
            sys.settrace(None)

        def _pause(self) -> None:
            threading.settrace(None)
            sys.settrace(None)

        def _restart(self) -> None:
            """The interpreter drops a tracer in which the stack overflows, so it is set anew for each test."""
            if self._on:
                threading.settrace(self._call)
                sys.settrace(self._call)

        def _call(self, frame: types.FrameType, event: str, argument: Any) -> Any:
            key = id(frame.f_code)
            try:
                return self._tracers[key]
            except KeyError:  # first call in this test
                tracer = self._tracers[key] = self._tracer(frame.f_code)
                return tracer

        def _tracer(self, code: types.CodeType) -> Any:
            name = self.name(code.co_filename)
            if not name:
                return None
            key = id(code)
            if key not in self._codes:
                self._codes[key] = (code, lines_of(code))  # kept alive, so that the identity stays its own
            seen, left = self._seen.setdefault(name, set()), set(self._codes[key][1])

            def line(frame: types.FrameType, event: str, argument: Any) -> Any:
                if event == "line":
                    number = frame.f_lineno
                    seen.add(number)
                    left.discard(number)
                    if not left:  # nothing more to learn here: the code runs at full speed from now on
                        self._tracers[key] = None
                        frame.f_trace_lines = False
                return line

            return line
