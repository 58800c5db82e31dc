"""Execution of blocks one after the other in one module, and the report on each."""

from __future__ import annotations

import _ast
import builtins
import linecache
import os
import signal
import sys
import threading
import traceback
import types

from . import value_display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, ModuleType
    from typing import Any

    from .channel import Channel


HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
TREE = _ast.PyCF_ONLY_AST
AWAIT = getattr(_ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)
IS_COROUTINE = 0x80  # inspect.CO_COROUTINE, without the import of inspect
MOST_TRACEBACK = 6000
MOST_NAMES = 40
MOST_CAUSES = 20


class BlockRunner:
    """The user's module `__main__`, in which all blocks run."""

    def __init__(self, channel: Channel, functions: ModuleType) -> None:
        self._channel = channel
        self._loop: Any = None
        self.module = types.ModuleType("__main__")
        sys.modules["__main__"] = self.module
        self._own: set[str] = set()
        for name, each in vars(functions).items():
            if not name.startswith("__"):
                setattr(self.module, name, each)
        self._own.update(vars(self.module))
        builtins.input = _refuse_input

    def run(self, number: int, code: str) -> dict[str, Any]:
        """Run one block. Returns the frame that reports it; never raises."""
        channel = self._channel
        channel.number = number
        outcome: dict[str, Any] = {}
        try:
            try:
                signal.signal(signal.SIGINT, channel.on_interrupt)
                channel.running = True
                self._execute(number, code, outcome)
            finally:
                channel.running = False
        except BaseException as error:  # whatever a block raises, the kernel continues
            self._record_error(error, outcome)
        _flush_output()
        outcome.update(kind="done", number=number, names=self._list_defined_names(), left=_count_leftovers())
        return outcome

    def define(self, name: str, source: str) -> None:
        """Run a saved function's source and add the function to the tools."""
        file = "<kept %s>" % name
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        place = {"__name__": "__main__", **{key: vars(self.module)[key] for key in self._own}}
        exec(compile(source, file, "exec", dont_inherit=True), place)
        setattr(self.module, name, place[name])
        self._own.add(name)

    def _execute(self, number: int, code: str, outcome: dict[str, Any]) -> None:
        file = "<block %d>" % number
        linecache.cache[file] = (len(code), None, code.splitlines(True), file)
        tree: Any = compile(code, file, "exec", TREE | AWAIT, True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
        self._evaluate(compile(tree, file, "exec", AWAIT, True))
        if last is not None:
            value = self._evaluate(compile(_ast.Expression(last.value), file, "eval", AWAIT, True))
            if value is not None:
                setattr(self.module, "_", value)  # noqa: B010
                outcome.update(value_display.describe_value(value))
        figures = value_display.export_figures()
        if figures:
            outcome.setdefault("pictures", []).extend(figures)

    def _evaluate(self, compiled: CodeType) -> Any:
        value = eval(compiled, vars(self.module))
        if not compiled.co_flags & IS_COROUTINE:
            return value
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(value)

    def _record_error(self, error: BaseException, outcome: dict[str, Any]) -> None:
        if isinstance(error, SystemExit) and error.code in (None, 0):
            return
        if isinstance(error, KeyboardInterrupt):
            outcome["interrupted"] = True
        try:
            outcome["error"] = _format_error(error)
            outcome["error_type"] = type(error).__name__
        except BaseException:  # an exception whose own text raises, or no memory left to report it
            outcome["error"] = "%s (it cannot be shown)" % type(error).__name__

    def _list_defined_names(self) -> list[str]:
        """Return the names that blocks have defined, which would be lost with the process."""
        names = [name for name in vars(self.module) if name not in self._own and not name.startswith("_")]
        return names[-MOST_NAMES:]


def _refuse_input(prompt: object = "") -> str:
    raise EOFError("input() is not available here: nobody can answer")


def _format_error(error: BaseException) -> str:
    whole = traceback.TracebackException.from_exception(error)
    each: traceback.TracebackException | None = whole
    for _ in range(MOST_CAUSES):
        if each is None:
            break
        each.stack[:] = [frame for frame in each.stack if not frame.filename.startswith(HERE)]
        each = each.__cause__ or each.__context__
    text = "".join(whole.format()).rstrip("\n")
    if len(text) <= MOST_TRACEBACK:
        return text
    half = MOST_TRACEBACK // 2
    return "%s\n[… %d characters …]\n%s" % (text[:half], len(text) - MOST_TRACEBACK, text[-half:])


def _flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # a block replaced the stream, or closed it
            pass


def _count_leftovers() -> dict[str, int]:
    """Return how many threads and child processes the block has left running."""
    try:
        threads = sum(each.is_alive() and each.name != "patchwright" for each in threading.enumerate()) - 1
    except BaseException:  # a block replaced the functions called here
        threads = 0
    return {"threads": max(threads, 0), "processes": _count_children()}


def _count_children() -> int:
    """Count the main thread's children; those that have ended and were not waited for do not count."""
    try:
        with open("/proc/self/task/%d/children" % os.getpid(), "rb") as file:
            return sum(_is_running(pid) for pid in file.read().decode().split())
    except OSError:  # not Linux, or no descriptor is left
        return 0


def _is_running(pid: str) -> bool:
    with open("/proc/%s/stat" % pid, "rb") as file:
        return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
