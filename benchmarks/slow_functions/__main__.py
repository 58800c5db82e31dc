"""How much quicker the rewrites of `patchwright optimize` make slow functions, and whether they answer the same.

`python -m benchmarks.slow_functions [NAME …] [--set known|histories] [--inputs N]`: of each function the best rewrite,
then the best one of the result, as long as that helps by a tenth. A version that answers otherwise for one of the
screening inputs is not taken; the one that is taken answers N other inputs beside the original at last. The seconds are
those of the search, without that last comparison.
"""

from __future__ import annotations

import argparse
import ast
import copy
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.slow_functions.history_inputs import HISTORIES
from benchmarks.slow_functions.inputs import LARGE, shrink
from packages.improve.rewrites.rewrite import Rewrite, apply_rewrites
from packages.improve.rewrites.rewrite_table import list_rewrites
from packages.search.programs.input_generation import InputPlan, generate_inputs

Function = Callable[..., Any]

SETS = {"known": ("functions.txt", LARGE), "histories": ("histories.txt", HISTORIES)}

MOST_ROUNDS = 4
LEAST_STEP, QUICKER = 1.1, 1.3
"""Gain of a further rewrite, and gain from which on a function counts as made quicker."""

SCREENED = 300
"""Inputs that a version answers before it is timed, as many as `optimize` compares."""

SPARE = 1.2
"""By how many times more inputs are drawn than are to be compared: of some the original takes too long."""

CALL_SECONDS, PATIENCE = 0.02, 25
"""Processor time beyond which an input is left out for the original, and by how many times a version may pass it."""


class SlowCallError(Exception):
    """A call that takes too long to be compared."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--set", choices=SETS, default="known")
    parser.add_argument("--inputs", type=int, default=1_000, help="inputs to compare for the version taken")
    options = parser.parse_args()
    file, arguments = SETS[options.set]
    text = Path(__file__).with_name(file).read_text("utf-8")
    names = options.names or list(arguments)
    quicker = wrong = 0
    print(
        "| function | ms | times quicker | rewrites | refused | inputs | wrong | s |\n|---|--:|--:|---|---|--:|--:|--:|"
    )
    for name in names:
        begun = time.monotonic()
        given = arguments[name]
        before = time_function(load(text, name), given)
        version, kinds, refused = improve(text, name, given)
        seconds = time.monotonic() - begun
        gain = before / time_function(load(version, name), given)
        calls = draw_calls(given, int(SPARE * options.inputs), seed=1)
        differences, compared = compare(text, version, name, calls, options.inputs)
        quicker += gain >= QUICKER and not differences
        wrong += bool(differences)
        print(
            f"| {name} | {before * 1000:.1f} | {gain:.1f} | {', '.join(kinds)} | {', '.join(refused)} | {compared} |"
            f" {differences} | {seconds:.0f} |",
            flush=True,
        )
    print(f"\n{quicker} of {len(names)} at least {QUICKER} times quicker, {wrong} wrong")


def improve(text: str, name: str, given: tuple[Any, ...]) -> tuple[str, list[str], list[str]]:
    """Return the best version of a function, the kinds of its rewrites, and those that answer otherwise."""
    kinds: list[str] = []
    refused: list[str] = []
    calls = draw_calls(given, SCREENED, seed=0)
    original = text
    for _ in range(MOST_ROUNDS):
        versions: list[tuple[float, Rewrite, str]] = []
        for rewrite in list_rewrites(text, [name]):
            version = apply_rewrites(text, [rewrite])
            if version is None:
                continue
            if compare(original, version, name, calls, SCREENED)[0]:
                refused.append(rewrite.kind)
                continue
            versions.append((time_function(load(version, name), given), rewrite, version))
        best = min(versions, key=lambda each: each[0], default=None)
        if best is None or best[0] * LEAST_STEP > time_function(load(text, name), given):
            break
        text = best[2]
        kinds.append(best[1].kind)
    return text, kinds, sorted(set(refused))


def compare(before: str, after: str, name: str, calls: Sequence[str], most: int) -> tuple[int, int]:
    """Return how many calls a version answers otherwise, and how many were compared: those that take no long time."""
    old, new = load(before, name), load(after, name)
    differences = compared = 0
    for call in calls:
        value = answer(old, call)
        if value is None:
            continue
        differences += answer(new, call, PATIENCE * CALL_SECONDS) != value
        compared += 1
        if compared == most:
            break
    return differences, compared


def draw_calls(given: tuple[Any, ...], count: int, seed: int) -> list[str]:
    """Return calls near a small one, and the small one."""
    small = repr(([shrink(each) for each in given], {}))
    return [small, *generate_inputs(InputPlan(given=[small], most=count, seed=seed, keep_rows=True))]


def answer(function: Function, call: str, seconds: float = CALL_SECONDS) -> str | None:
    """Return what a call answers, with its arguments afterwards; None if it takes too long."""
    arguments, named = ast.literal_eval(call)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return repr((function(*arguments, **named), arguments))
    except SlowCallError:
        return None
    except (
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
        RecursionError,
        AttributeError,
        StopIteration,
    ):
        return "an error"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def load(text: str, name: str) -> Function:
    """Return a function of a module's text."""
    space: dict[str, Any] = {"__name__": "functions"}
    exec(compile(text, "functions", "exec"), space)
    made: Function = space[name]
    return made


def time_function(function: Function, arguments: tuple[Any, ...]) -> float:
    """Return the seconds of CPU of the quickest of five calls."""
    best = float("inf")
    for _ in range(5):
        given = copy.deepcopy(arguments)
        before = time.process_time()
        function(*given)
        best = min(best, time.process_time() - before)
    return best


def end_call(number: int, frame: FrameType | None) -> None:
    raise SlowCallError


if __name__ == "__main__":
    signal.signal(signal.SIGPROF, end_call)
    main()
