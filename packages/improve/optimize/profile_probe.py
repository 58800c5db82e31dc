"""Probe that a copy of the target starts: samples of its lines, and arguments of its functions' first calls.

It runs in the sandbox, in the target's own process, without imports of ours.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Calls of a function whose arguments are kept, and characters of one.
MOST_CALLS, LONGEST_CALL = 12, 200_000
# Seconds of processor time between two samples.
INTERVAL = 0.002
_PLAIN = (bool, int, float, str, bytes, type(None))


def start_probe(space: dict[str, Any], folder: str) -> None:
    """Record until the process ends. space: globals of the target; folder: where the account is written"""
    samples: dict[str, int] = {}
    lines: dict[int, int] = {}
    calls: dict[str, dict[str, None]] = {}
    # Of another file's probe: a sample counts for one of the files.
    earlier = signal.getsignal(signal.SIGPROF)
    known = earlier.args[0] if isinstance(earlier, functools.partial) else {}
    known[space.get("__file__", "")] = (samples, lines)

    def save() -> None:
        if isinstance(signal.getsignal(signal.SIGPROF), functools.partial):
            signal.setitimer(signal.ITIMER_PROF, 0)
        kept = {name: list(each) for name, each in calls.items()}
        told = {"functions": samples, "lines": lines, "calls": kept}
        with open(os.path.join(folder, f"{os.getpid()}.json"), "w") as file:
            json.dump(told, file)

    for name, value in list(space.items()):
        if type(value) is types.FunctionType and value.__module__ == space.get("__name__"):
            space[name] = _wrap(value, calls.setdefault(name, {}))
    atexit.register(save)
    try:
        signal.signal(signal.SIGPROF, functools.partial(_sample, known))
        signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
    except (ValueError, OSError):  # not in the main thread: no samples
        pass


def _sample(
    known: dict[str, tuple[dict[str, int], dict[int, int]]], number: int, frame: types.FrameType | None
) -> None:
    """Count the innermost frame of a known file."""
    while frame is not None and frame.f_code.co_filename not in known:
        frame = frame.f_back
    if frame is None:
        return
    samples, lines = known[frame.f_code.co_filename]
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name).partition(".<locals>")[0]
    samples[name] = samples.get(name, 0) + 1
    if frame.f_lineno:  # none between two lines
        lines[frame.f_lineno] = lines.get(frame.f_lineno, 0) + 1


def _wrap(function: Callable[..., Any], known: dict[str, None]) -> Callable[..., Any]:
    @functools.wraps(function)
    def record(*positional: Any, **named: Any) -> Any:
        if len(known) < MOST_CALLS and _is_literal(list(positional)) and _is_literal(named):
            text = repr((list(positional), named))
            if len(text) < LONGEST_CALL:
                known[text] = None
        return function(*positional, **named)

    return record


def _is_literal(value: Any, depth: int = 6) -> bool:
    """Return whether the value's `repr` can be read back."""
    kind = type(value)
    if kind in _PLAIN:
        return bool(value == value and value not in (float("inf"), -float("inf")))
    if not depth:
        return False
    if kind in (list, tuple, set):
        return all(_is_literal(each, depth - 1) for each in value)
    return kind is dict and all(_is_literal(each, depth - 1) for each in value.items())
