"""A case of the repair benchmarks: a small project with a fault, and a judge that the search never sees."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHILD = Path(__file__).with_name("judge_child.py")
# Seconds of CPU that one call may take; the inputs are small.
CALL = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One faulty project.

    kind: the class of fault, as its data set names it
    files: path → text; `target` is the file at fault
    right: whether a text of the target behaves as the reference does on held-out inputs
    reference: the right program, for people to compare with
    """

    name: str
    kind: str
    files: Mapping[str, str]
    target: str
    right: Callable[[str], bool]
    reference: str


def answers(text: str, entry: str, inputs: Sequence[Any], seconds: float = CALL) -> list[dict[str, Any]]:
    """What a program says to each input, in a process of its own; a program that dies says "died" from there on."""
    task = {"text": text, "entry": entry, "inputs": list(inputs), "seconds": seconds}
    try:
        done = subprocess.run(
            [sys.executable, "-B", str(CHILD)],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            timeout=60 + seconds * 3,
            check=False,
        )
        lines = done.stdout.splitlines()
    except subprocess.TimeoutExpired as late:
        lines = (late.stdout or b"").decode().splitlines()[:-1] if isinstance(late.stdout, bytes) else []
    found = [json.loads(line) for line in lines]
    return found + [{"error": "died"}] * (len(inputs) - len(found))


def alike(
    expected: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]], tolerance: float = 0.0
) -> bool:
    """Whether two programs agree wherever the first of them has an answer."""
    return all(
        "value" not in want or ("value" in got and _equal(want["value"], got["value"], tolerance))
        for want, got in zip(expected, found, strict=True)
    )


def _equal(want: Any, got: Any, tolerance: float) -> bool:
    if want == got:
        return True
    numbers = isinstance(want, float | int) and isinstance(got, float | int)
    return numbers and abs(want - got) <= max(tolerance, 1e-5)
