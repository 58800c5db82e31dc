"""Checker of small Python programs, in the sandbox, as a script without imports of ours, for Python 3.8 and later.

Called with `answers` it reads {"text", "entry", "inputs", "seconds"} as JSON from standard input and writes one JSON
line for each input: {"value": …} or {"error": …}. An input is a list of arguments, or "NAME:SEED" for one that the
module beside it draws. Called without, it is a task's checker: the cases beside it are given to the program of the
worktree in a process of its own, which never sees the expected answers.
Both are started with -I: the worktree's modules do not replace Python's.
"""

from __future__ import annotations

import copy
import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "patchwright_cases.json")

MEMORY = 2 << 30
DEEPEST, MOST_ITEMS = 40, 100_000

MOST_LATE = 5
"""Calls that may take too long before no more are made: a program that never ends is wrong soon enough."""


class OutOfTime(BaseException):
    """Not an Exception: no program under test may catch it."""


def answer_inputs() -> None:
    """Answer the inputs of standard input."""
    task = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, _stop_call)
    # The program's own prints do not reach the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.path.append(HERE)  # for drawn inputs and the program's own imports, behind Python's own modules
    namespace = {"__name__": "program"}
    try:
        exec(compile(task["text"], "program.py", "exec"), namespace)
    except BaseException as error:  # a program that cannot be loaded answers nothing
        for _ in task["inputs"]:
            answers.write(json.dumps({"error": type(error).__name__}) + "\n")
        answers.flush()
        return
    late = 0
    for each in task["inputs"]:
        answer = {"error": "time"}
        if late < MOST_LATE:
            answer = _answer_input(namespace, task["entry"], each, task["seconds"])
        late += answer.get("error") == "time"
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer_input(namespace: dict[str, Any], entry: str, drawn: Any, seconds: float) -> dict[str, Any]:
    try:
        if isinstance(drawn, str):
            import drawn_inputs  # type: ignore[import-not-found]  # beside this script

            name, _, seed = drawn.partition(":")
            arguments = drawn_inputs.make(name, int(seed))
        else:
            arguments = copy.deepcopy(drawn)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        owner, _, method = entry.rpartition(".")
        function = getattr(namespace[owner](), method) if owner else namespace[entry]
        return {"value": describe(function(*arguments))}
    except OutOfTime:
        return {"error": "time"}
    except BaseException as error:  # an exit, too, is an answer of a program under test
        return {"error": type(error).__name__}
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def describe(value: Any, depth: int = 0) -> Any:
    """Return JSON that is equal for equal values: sets sorted, iterators run out, nodes by what hangs on them."""
    if depth > DEEPEST or value is None or isinstance(value, (bool, int, str)):
        return value if depth <= DEEPEST else "…"
    if isinstance(value, float):
        return round(value, 6) if abs(value) < 1e12 else repr(value)
    if type(value).__name__ == "Node" and hasattr(value, "successor"):
        rest = value.successor
        return ["node", value.value, describe(rest, depth + 1) if rest is not value else "itself"]
    if isinstance(value, dict):
        pairs = [[describe(k, depth + 1), describe(v, depth + 1)] for k, v in value.items()]
        return ["map", sorted(pairs, key=repr)]
    if isinstance(value, (set, frozenset)):
        return ["set", sorted((describe(each, depth + 1) for each in value), key=repr)]
    if hasattr(value, "__iter__"):
        return [describe(each, depth + 1) for each, _ in zip(value, range(MOST_ITEMS))]
    return repr(value)


def check_program() -> int:
    """Compare the program's answers with the expected ones. Returns the exit code."""
    with open(CASES, encoding="utf-8") as file:
        cases = json.load(file)
    with suppress(OSError):  # the program under test does not find what it is to answer
        os.unlink(CASES)
    with open(cases["target"], encoding="utf-8", errors="replace") as file:
        text = file.read()
    task = {"text": text, "entry": cases["entry"], "inputs": cases["inputs"], "seconds": cases["seconds"]}
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-B", os.path.abspath(__file__), "answers"],
            input=json.dumps(task).encode(), stdout=subprocess.PIPE, timeout=cases["timeout"],
        )  # fmt: skip
        output = done.stdout
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
    answers = []
    for line in output.decode("utf-8", "replace").split("\n"):
        with suppress(ValueError):  # the last line of a program that was killed
            answers.append(json.loads(line))
    answers += [{"error": "died"}] * (len(cases["inputs"]) - len(answers))
    good = [
        agrees(want, got, margin) for want, got, margin in zip(cases["expected"], answers, cases["margins"])
    ]
    print(f"{sum(good)} of {len(good)} held-out inputs are answered as the reference does")
    # Where the reference itself has no answer, any will do: a program that died has not shown anything by that.
    return 0 if all(good) and any("value" in want for want in cases["expected"]) else 1


def agrees(want: Mapping[str, Any], got: Any, margin: float = 0.0) -> bool:
    """Return whether an answer is the expected one; numbers may differ by the margin."""
    if "value" not in want:
        return True
    if not isinstance(got, dict) or "value" not in got:
        return False
    return equals(want["value"], got["value"], margin)


def equals(want: Any, got: Any, margin: float) -> bool:
    """Return whether two described values are equal, numbers within the margin."""
    if want == got:
        return True
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(equals(a, b, margin) for a, b in zip(want, got))
    numbers = isinstance(want, (float, int)) and isinstance(got, (float, int))
    return numbers and abs(want - got) <= max(margin, 1e-5)


def _stop_call(number: int, frame: object) -> None:
    raise OutOfTime


if __name__ == "__main__":
    if sys.argv[1:] == ["answers"]:
        answer_inputs()
    else:
        sys.exit(check_program())
