"""Worker that runs one candidate program on many inputs. It runs in the sandbox, as a script of its own.

Reads a job as JSON from standard input and writes the results as JSON to standard output. The program runs in a
child process: when that hangs, exits or crashes, the input is lost and a new child goes on with the next one. Expected
results never reach it, except in checks that no comparison of values can replace. For Python 3.8 and later, without
imports of ours.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import io
import itertools
import json
import os
import random
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Depth, items and characters of a described value: more says no more about a difference.
DEEPEST, MOST_ITEMS, LONGEST = 8, 200, 2000
# Characters of printed text that are kept.
MOST_PRINTED = 1000
# Bytes of a file that a program may write.
LARGEST_FILE = 1 << 20
# Wall seconds beyond an input's limit after which a child is killed that sleeps or ignores the signal. The limit itself
# is of processor time, so that a busy machine changes no result.
GRACE = 5.0
# Name of the program's code, and the folder of its module if it is one of a project.
PROGRAM = "<candidate>"
ROOT: list[str] = []
# Nested calls that a program may make.
DEEPEST_CALLS = 3000


class _TimeLimit(BaseException):
    """The input's time is over. No `Exception`, so that few programs catch it."""


class _Output(io.StringIO):
    """Standard output of the program: its beginning is kept, the rest dropped."""

    def write(self, text: str) -> int:
        left = MOST_PRINTED - self.tell()
        if left > 0:
            super().write(str(text)[:left])
        return len(text)


def main() -> None:
    job = json.load(sys.stdin)
    tasks = [("call", each) for each in job["calls"]] + [("check", each) for each in job["checks"]]
    results = _run_tasks(job, tasks)
    calls, checks = results[: len(job["calls"])], results[len(job["calls"]) :]
    json.dump({"calls": calls, "checks": [each == ["passed"] for each in checks]}, sys.stdout)


def _run_tasks(job: dict[str, Any], tasks: Sequence[tuple[str, str]]) -> list[list[Any]]:
    """Return a result for each task; children that die are replaced until too many have."""
    results: list[list[Any]] = []
    losses = 0
    while len(results) < len(tasks):
        if losses >= job["most_losses"]:
            results += [["unrun"]] * (len(tasks) - len(results))
            break
        done, loss = _run_child(job, tasks[len(results) :])
        results += done
        if loss:
            losses += 1
            results.append([loss])
    return results


def _run_child(job: dict[str, Any], tasks: Sequence[tuple[str, str]]) -> tuple[list[list[Any]], str]:
    """Run tasks in one child. Returns the results, or those before a loss and its kind."""
    receiver, sender = os.pipe()
    child = os.fork()
    if not child:
        os.close(receiver)
        try:
            _serve(job, tasks, sender)
        finally:
            os._exit(0)
    os.close(sender)
    results: list[list[Any]] = []
    loss = ""
    try:
        for line in _read_lines(receiver, job):
            result = ["timeout"] if line is None else json.loads(line)
            if result == ["timeout"]:
                loss = "timeout"
                break
            if result != ["ready"]:
                results.append(result)
    except ValueError:  # the program wrote into our pipe
        loss = "died"
    os.close(receiver)
    _kill(child)
    if not loss and len(results) < len(tasks):
        loss = "died"
    return results[: len(tasks)], loss


def _read_lines(receiver: int, job: dict[str, Any]) -> Iterator[bytes | None]:
    """Yield lines of the child; None when one does not come in time. The first reports the loaded program."""
    rest, seconds = b"", job["load_seconds"] + GRACE
    while True:
        until = time.monotonic() + seconds
        while b"\n" not in rest:
            if not select.select([receiver], [], [], max(0.0, until - time.monotonic()))[0]:
                yield None
                return
            data = os.read(receiver, 1 << 16)
            if not data:
                return
            rest += data
        line, _, rest = rest.partition(b"\n")
        seconds = max(job["call_seconds"], job["check_seconds"] if job["checks"] else 0.0) + GRACE
        yield line


def _kill(child: int) -> None:
    for kill in (os.killpg, os.kill):
        with suppress(OSError):  # it has ended
            kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _serve(job: dict[str, Any], tasks: Sequence[tuple[str, str]], sender: int) -> None:
    """Load the program and run the tasks, in the child."""
    os.setsid()
    for which, most in ((resource.RLIMIT_AS, job["memory"]), (resource.RLIMIT_FSIZE, LARGEST_FILE)):
        resource.setrlimit(which, (most, most))
    nothing = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nothing, each)
    signal.signal(signal.SIGPROF, _stop)
    sys.setrecursionlimit(DEEPEST_CALLS)
    space: dict[str, Any] = {"__name__": "candidate"}
    loaded = _run_limited(job["load_seconds"], partial(_load, job, space))
    _send(sender, ["ready"])
    for kind, text in tasks:
        if loaded[0] != "value":
            result = loaded
        elif kind == "call":
            result = _run_limited(job["call_seconds"], partial(_call, space, job, text))
        else:
            result = _run_limited(job["check_seconds"], partial(_check, space, text))
        if kind == "check" and result != ["timeout"]:
            result = ["passed"] if result[0] == "value" else ["failed"]
        _send(sender, result)
        if result == ["timeout"]:  # the program may be in any state: a new child goes on
            return


def _send(sender: int, result: list[Any]) -> None:
    data = json.dumps(result).encode() + b"\n"
    while data:
        data = data[os.write(sender, data) :]


def _stop(*_: object) -> None:
    signal.setitimer(signal.ITIMER_PROF, 0.05)  # again, should the program have caught it
    raise _TimeLimit


def _run_limited(seconds: float, function: Callable[[], Any]) -> list[Any]:
    """Return ["value", description, printed text], ["timeout"], or [kind, exception, printed text].

    kind: "raised" by a `raise` of the program's own, "failed" by any other exception
    """
    printed = _Output()
    sys.stdout = sys.stderr = printed
    random.seed(0)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            value = function()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return ["value", value, printed.getvalue()]
    except _TimeLimit:
        return ["timeout"]
    except BaseException as error:  # any exception of the program, SystemExit too
        signal.setitimer(signal.ITIMER_PROF, 0)
        kind = "raised" if _is_raised_on_purpose(error) else "failed"
        return [kind, type(error).__name__, printed.getvalue()]


def _is_raised_on_purpose(error: BaseException) -> bool:
    """Return whether the exception comes from a `raise` statement of the program, not from within a library."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    code = trace.tb_frame.f_code
    own = code.co_filename == PROGRAM or (bool(ROOT) and code.co_filename.startswith(ROOT[0]))
    return own and code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _load(job: dict[str, Any], space: dict[str, Any]) -> None:
    if job["module"]:
        import importlib

        ROOT.append(job["root"])
        sys.path.insert(0, job["root"])
        space.update(vars(importlib.import_module(job["module"])))
    else:
        exec(compile(job["source"], PROGRAM, "exec"), space)


def _call(space: dict[str, Any], job: dict[str, Any], text: str) -> Any:
    positional, named = ast.literal_eval(text)
    value = space[job["function"]](*positional, **named)
    return _digest((value, positional, named)) if job["exact"] else describe(value)


def _digest(value: Any) -> str:
    """Return a digest that differs wherever a caller could see it: all items, their types, the order of keys."""
    found = hashlib.sha256()
    _update_digest(found, value, DEEPEST)
    return found.hexdigest()


def _update_digest(found: Any, value: Any, depth: int) -> None:
    kind = type(value)
    found.update(kind.__name__.encode())
    if value is None or kind in (bool, int, float, complex, str, bytes, bytearray):
        found.update(repr(value).encode("utf-8", "surrogatepass"))
    elif depth == 0:
        return
    elif isinstance(value, (set, frozenset)):
        for text in sorted(json.dumps(describe(each, depth - 1)) for each in value):
            found.update(text.encode())
    elif isinstance(value, (list, tuple)) or hasattr(value, "__next__"):
        for each in value:
            found.update(b",")
            _update_digest(found, each, depth - 1)
    elif isinstance(value, dict):
        for pair in value.items():
            _update_digest(found, pair, depth - 1)
    else:
        found.update(json.dumps(describe(value, depth)).encode())


def _check(space: dict[str, Any], text: str) -> None:
    exec(compile(text, "check", "exec"), dict(space))


def describe(value: Any, depth: int = DEEPEST) -> Any:
    """Return a JSON form of a value that keeps types apart and is the same for equal values."""
    kind = type(value)
    if value is None or kind in (bool, str):
        return value if kind is not str or len(value) <= LONGEST else ["str", len(value), value[:LONGEST]]
    if kind in (int, float, complex):
        return ["number", repr(value)[:LONGEST]]
    if depth == 0:
        return ["deep", kind.__name__]
    if kind in (list, tuple):
        items = [describe(each, depth - 1) for each in value[:MOST_ITEMS]]
        return [kind.__name__, len(value), items]
    if kind in (set, frozenset):
        items = [describe(each, depth - 1) for each in itertools.islice(value, MOST_ITEMS)]
        return ["set", len(value), sorted(items, key=json.dumps)]
    if isinstance(value, dict):
        pairs = [
            [describe(key, depth - 1), describe(each, depth - 1)]
            for key, each in itertools.islice(value.items(), MOST_ITEMS)
        ]
        return ["dict", len(value), sorted(pairs, key=json.dumps)]
    if kind in (bytes, bytearray):
        return ["bytes", len(value), bytes(value[:LONGEST]).hex()]
    if hasattr(value, "__next__"):
        return ["iterator", [describe(each, depth - 1) for each in itertools.islice(value, MOST_ITEMS)]]
    own = getattr(value, "__dict__", None)
    return ["object", kind.__name__, describe(own, depth - 1) if isinstance(own, dict) else None]


if __name__ == "__main__":
    main()
