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

# Folders with third-party files, anywhere in a workspace.
FOREIGN = {"site-packages", "dist-packages", "node_modules", "__pycache__", "venv", "env"}


def get_code_lines(code: types.CodeType) -> set[int]:
    return {line for _, line in dis.findlinestarts(code) if line}


class Recorder:
    """Recorder of lines of the workspace's own files between `start` and `take_lines`."""

    def __init__(self, root: str) -> None:
        self._root = root + os.sep
        self._names: dict[str, str] = {}
        self._seen: dict[str, set[int]] = {}
        # By identity: equal code in two files is equal, and must not be confused.
        self._codes: dict[int, tuple[types.CodeType, set[int]]] = {}
        self._tracers: dict[int, Any] = {}
        self._on = False
        self._waiting = False

    def get_relative_path(self, path: str) -> str:
        """Return a source file's path relative to the root, "" for files that are not the workspace's own."""
        known = self._names.get(path)
        if known is None:
            relative = path[len(self._root) :] if path.startswith(self._root) else ""
            folders = relative.split(os.sep)[:-1]
            foreign = any(each in FOREIGN or each.startswith(".") for each in folders)
            known = self._names[path] = "" if foreign or not relative.endswith(".py") else relative
        return known

    def start_with_own_code(self) -> None:
        """Start when the first of the workspace's own modules is executed; earlier code is irrelevant.

        Imports of a test framework would take half as long again. The hook cannot be removed, so it does next
        to nothing after that.
        """
        if not hasattr(sys, "addaudithook"):  # Python 3.7
            self.start()
            return
        self._waiting = True

        def handle_audit_event(event: str, arguments: Any) -> None:
            if (
                self._waiting
                and event == "exec"
                and self.get_relative_path(getattr(arguments[0], "co_filename", ""))
            ):
                self._waiting = False
                self.start()

        sys.addaudithook(handle_audit_event)

    def take_import_lines(self) -> dict[str, list[int]]:
        """Return the lines that ran since `start_with_own_code`; stops recording."""
        lines = self.take_lines()
        if not self._waiting:  # some module was the workspace's own
            self.stop()
        self._waiting = False
        return lines

    def wrap_unrecorded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function without recording of its lines: formatting a failure is not part of the test."""

        def call_unrecorded(*arguments: Any, **options: Any) -> Any:
            self._pause()
            try:
                return function(*arguments, **options)
            finally:
                self._restart()

        return call_unrecorded

    def take_lines(self) -> dict[str, list[int]]:
        lines = {name: sorted(seen) for name, seen in self._seen.items() if seen}
        self._seen.clear()
        self._tracers.clear()
        self._restart()
        return lines

    if sys.version_info >= (3, 12):
        _TOOL = 4  # the first id that is not reserved for a kind of tool

        def start(self) -> None:
            monitoring = sys.monitoring
            monitoring.use_tool_id(self._TOOL, "patchwright")
            monitoring.register_callback(self._TOOL, monitoring.events.LINE, self._record_line)
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

        def _record_line(self, code: types.CodeType, line: int) -> Any:
            name = self.get_relative_path(code.co_filename)
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
            """The interpreter drops a tracer in which the stack overflows, so it is set again for each test."""
            if self._on:
                threading.settrace(self._trace_call)
                sys.settrace(self._trace_call)

        def _trace_call(self, frame: types.FrameType, event: str, argument: Any) -> Any:
            key = id(frame.f_code)
            try:
                return self._tracers[key]
            except KeyError:  # first call in this test
                tracer = self._tracers[key] = self._create_tracer(frame.f_code)
                return tracer

        def _create_tracer(self, code: types.CodeType) -> Any:
            name = self.get_relative_path(code.co_filename)
            if not name:
                return None
            key = id(code)
            if key not in self._codes:
                self._codes[key] = (
                    code,
                    get_code_lines(code),
                )  # kept alive, so that the identity stays its own
            seen, left = self._seen.setdefault(name, set()), set(self._codes[key][1])

            def trace_line(frame: types.FrameType, event: str, argument: Any) -> Any:
                if event == "line":
                    number = frame.f_lineno
                    seen.add(number)
                    left.discard(number)
                    if not left:  # nothing more to record here: the code runs at full speed from now on
                        self._tracers[key] = None
                        frame.f_trace_lines = False
                return trace_line

            return trace_line
