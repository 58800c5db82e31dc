"""Answers of a reference program on inputs, and the checker that holds another program to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packages.evaluation.suites.programs.program_judge import agrees
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json

if TYPE_CHECKING:
    from tools.core.workspace import Workspace

JUDGE = Path(__file__).with_name("program_judge.py")
DRAWN = Path(__file__).with_name("drawn_inputs.py")

CALL = 2.0
"""Processor seconds of one call; the inputs are small."""

SLACK = 60.0
"""Wall seconds of a whole run beyond its calls: a busy machine starts Python slowly."""

_MOST_OUTPUT = 32 << 20
"""Bytes of answers that are read."""

Answer = Mapping[str, Any]
"""{"value": …} or {"error": …}."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCases:
    """Inputs of a function with the reference's answers.

    target: path of the program in the worktree; entry: its function, "Class.method" for a method
    inputs: lists of arguments, or "NAME:SEED" for drawn ones; margins: how far a number may be off, by input
    """

    target: str
    entry: str
    inputs: Sequence[Any]
    expected: Sequence[Answer]
    margins: Sequence[float]
    seconds: float = CALL

    def build_checker(self) -> dict[str, bytes]:
        """Return the checker's files by path."""
        data = {
            "target": self.target,
            "entry": self.entry,
            "inputs": list(self.inputs),
            "expected": [dict(each) for each in self.expected],
            "margins": list(self.margins),
            "seconds": self.seconds,
            "timeout": SLACK + 3 * self.seconds,
        }
        files = {
            "patchwright_judge.py": JUDGE.read_bytes(),
            "patchwright_cases.json": json.dumps(data).encode(),
        }
        if any(isinstance(each, str) for each in self.inputs):
            files["drawn_inputs.py"] = DRAWN.read_bytes()
        return files


CHECK = "python3 -I -B patchwright_judge.py"
"""Command line of the checker. -I: no module of the worktree takes the place of one of Python's own."""


def compute_answers(
    at: Workspace, text: str, entry: str, inputs: Sequence[Any], seconds: float = CALL
) -> list[Answer]:
    """Run a program on inputs in the sandbox; a program that dies has the answer "died" from there on."""
    import sys

    from sandbox.process.command import Command

    task = {"text": text, "entry": entry, "inputs": list(inputs), "seconds": seconds}
    done = asyncio.run(
        at.sandbox.run(
            Command(
                argv=(sys.executable, "-B", "-s", str(JUDGE), "answers"),
                cwd=at.root,
                env={"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
                stdin=json.dumps(task).encode(),
                timeout=SLACK + 3 * seconds,
                stderr="separate",
                scope="read-only",
                readable=(JUDGE, DRAWN),
                whole=_MOST_OUTPUT,
            )
        )
    )
    found: list[Answer] = []
    for line in done.stdout.head.decode("utf-8", "replace").splitlines()[: len(inputs)]:
        try:
            answer = parse_json(line)
        except ValueError:  # the last line of a program that was killed
            break
        found.append(answer if isinstance(answer, dict) else {"error": "no answer"})
    return found + [{"error": "died"}] * (len(inputs) - len(found))


def agree_all(expected: Sequence[Answer], found: Sequence[Answer], margin: float = 0.0) -> bool:
    """Return whether two programs agree wherever the first of them has an answer."""
    return all(agrees(want, got, margin) for want, got in zip(expected, found, strict=True))
