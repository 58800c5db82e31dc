"""Refactory (Hu et al., ASE 2019): wrong programs that students handed in for five assignments.

A clone of github.com/githubhuyang/refactory with its data.zip unpacked is read, nothing of it is kept here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks.repair.cases import Case


def cases(clone: Path, *, half: str, sample: int, seed: int) -> Iterator[Case]:
    """A sample of a half, all assignments in it. Every published test is shown: what passes counts as right."""
    every = sorted((clone / "data").glob("question_*/code/wrong/*.py"))
    wrong = [path for path in every if _half(path) == half]
    for path in Random(seed).sample(wrong, min(sample, len(wrong))):
        question = path.parents[2]
        reference = (question / "code/reference/reference.py").read_text()
        preamble_file = question / "code/global.py"
        preamble = preamble_file.read_text() + "\n" if preamble_file.is_file() else ""
        yield Case(
            name=f"{question.name}/{path.stem}",
            kind=question.name,
            files={"answer.py": preamble + path.read_text(), "test_answer.py": _tests(question)},
            target="answer.py",
            right=lambda text: True,
            reference=reference,
        )


def _half(path: Path) -> str:
    return "held-out" if hashlib.sha256(path.stem.encode()).digest()[0] % 2 else "development"


def _tests(question: Path) -> str:
    tests = ["from answer import *\n"]
    for file in sorted((question / "ans").glob("input_*.txt")):
        number = file.stem.rpartition("_")[2]
        expected = (question / "ans" / f"output_{number}.txt").read_text().strip()
        tests.append(f"\ndef test_{number}():\n    assert ({file.read_text().strip()}) == ({expected})\n")
    return "\n".join(tests)
