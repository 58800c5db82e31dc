"""Runs many texts of one program, in the sandbox: a script that answers line by line until its input ends.

Started with the checker's path. The first line gives {"entry", "inputs", "seconds"}; each other one, {"text"}, is
answered by one line with a list of answers. Every text runs in a fork, so that none changes the next.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import resource
import signal
import sys
from typing import Any

MEMORY = 1 << 30

USUAL = ("bisect", "collections", "functools", "heapq", "itertools", "math", "random", "string", "typing")
"""Modules that programs import: once, and not in each fork."""

MOST_LATE = 2
"""Calls of one text that may take too long before no more are made."""

LONGEST = 20
"""Wall seconds of one text."""


def main() -> None:
    """Answer all texts of standard input."""
    found = importlib.util.spec_from_file_location("judge", sys.argv[1])
    assert found is not None
    assert found.loader is not None
    judge = importlib.util.module_from_spec(found)
    found.loader.exec_module(judge)
    for name in USUAL:
        importlib.import_module(name)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    task = json.loads(sys.stdin.readline())
    for line in sys.stdin:
        answers.write(_answer_in_fork(judge, task, json.loads(line)["text"]) + "\n")
        answers.flush()


def _answer_in_fork(judge: Any, task: dict[str, Any], text: str) -> str:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(LONGEST)
        try:
            said = json.dumps(_answer(judge, task, text))
        except BaseException:  # whatever a program under test does, its fork ends here
            said = "[]"
        with os.fdopen(writing, "w") as out:
            out.write(said)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said_by_child:
        said = said_by_child.read()
    os.waitpid(child, 0)
    return said or "[]"


def _answer(judge: Any, task: dict[str, Any], text: str) -> list[dict[str, Any]]:
    signal.signal(signal.SIGVTALRM, judge._stop_call)
    namespace = {"__name__": "program"}
    try:
        exec(compile(text, "program.py", "exec"), namespace)
    except BaseException as error:  # a program that cannot be loaded answers nothing
        return [{"error": type(error).__name__}] * len(task["inputs"])
    found: list[dict[str, Any]] = []
    late = 0
    for each in task["inputs"]:
        answer = {"error": "time"}
        if late < MOST_LATE:
            answer = judge._answer_input(namespace, task["entry"], each, task["seconds"])
        late += answer.get("error") == "time"
        found.append(answer)
    return found


if __name__ == "__main__":
    main()
