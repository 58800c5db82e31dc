"""A process that calls a function of a program on many inputs: what it is asked comes as JSON on stdin.

Asked {"text", "entry", "inputs", "seconds"} it answers one JSON line an input: {"value": …} or {"error": …}.
An input is a list of arguments, or "NAME:SEED" for one that is drawn (see quixbugs_inputs).
"""

from __future__ import annotations

import copy
import json
import resource
import signal
import sys
from collections.abc import Mapping
from typing import Any

import quixbugs_inputs

MEMORY = 2 << 30


class OutOfTime(BaseException):
    """Not an Exception: no program under test may catch it."""


def main() -> None:
    task = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, _over)
    answers = sys.stdout
    sys.stdout = open("/dev/null", "w")  # noqa: PTH123, SIM115 - prints of the program
    namespace: dict[str, Any] = {"__name__": "program"}
    try:
        exec(compile(task["text"], "program.py", "exec"), namespace)
    except Exception as error:  # a program that cannot be loaded answers nothing
        for _ in task["inputs"]:
            print(json.dumps({"error": type(error).__name__}), file=answers)
        return
    for each in task["inputs"]:
        print(json.dumps(_answer(namespace, task["entry"], each, task["seconds"])), file=answers, flush=True)


def _answer(namespace: Mapping[str, Any], entry: str, drawn: Any, seconds: float) -> dict[str, Any]:
    try:
        if isinstance(drawn, str):
            name, _, seed = drawn.partition(":")
            arguments = quixbugs_inputs.make(name, int(seed))
        else:
            arguments = copy.deepcopy(drawn)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        owner, _, method = entry.rpartition(".")
        function = getattr(namespace[owner](), method) if owner else namespace[entry]
        return {"value": plain(function(*arguments))}
    except OutOfTime:
        return {"error": "time"}
    except RecursionError:
        return {"error": "RecursionError"}
    except Exception as error:
        return {"error": type(error).__name__}
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON that is equal for equal values: sets sorted, iterators run out, nodes by what hangs on them."""
    if depth > 40 or value is None or isinstance(value, bool | int | str):
        return value if depth <= 40 else "…"
    if isinstance(value, float):
        return round(value, 6) if abs(value) < 1e12 else repr(value)
    if isinstance(value, quixbugs_inputs.Node):
        rest = value.successor
        return ["node", value.value, plain(rest, depth + 1) if rest is not value else "itself"]
    if isinstance(value, Mapping):
        return [
            "map",
            sorted(([plain(k, depth + 1), plain(v, depth + 1)] for k, v in value.items()), key=repr),
        ]
    if isinstance(value, set | frozenset):
        return ["set", sorted((plain(each, depth + 1) for each in value), key=repr)]
    if hasattr(value, "__iter__"):
        return [plain(each, depth + 1) for each, _ in zip(value, range(100_000), strict=False)]
    return repr(value)


def _over(number: int, frame: object) -> None:
    raise OutOfTime


if __name__ == "__main__":
    main()
