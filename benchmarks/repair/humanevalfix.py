"""HumanEvalFix in Python (Muennighoff et al., OctoPack, 2023): small functions into which people put a fault.

A clone of github.com/bigcode-project/octopack is read, nothing of it is kept here. The published checks become one
test an assertion. Inputs made by changing those of the checks are held out; the canonical solution answers them.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha1
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.repair.cases import Case, alike, answers
from benchmarks.repair.debugbench import QUICK, varied

DATA = "evaluation/create/humaneval-x/data/python/data/humanevalpack.jsonl"
HELD_OUT = 50


def cases(clone: Path, *, half: str, sample: int, seed: int, weak: bool) -> Iterator[Case]:
    """Up to `sample` cases of one half ("development" or "held-out").

    weak: only the examples of the docstring become tests
    """
    lines = (clone / DATA).read_text("utf-8").splitlines()
    records = [each for each in map(json.loads, lines) if half_of(each["task_id"]) == half]
    shown = "example_test" if weak else "test"
    usable = [each for each in records if _has_checks(each[shown])]
    for record in Random(seed).sample(usable, min(sample, len(usable))):
        yield _case(record, shown)


def half_of(task: str) -> str:
    """Return the half of a task by the hash of its name."""
    return (
        "held-out" if int(sha1(task.encode(), usedforsecurity=False).hexdigest(), 16) % 2 else "development"
    )


def _has_checks(text: str) -> bool:
    """Some docstrings have no example, and of one the checks are no Python."""
    try:
        return any(isinstance(each, ast.Assert) for each in ast.walk(ast.parse(text.strip())))
    except SyntaxError:
        return False


def _case(record: Mapping[str, str], shown: str) -> Case:
    entry, head = record["entry_point"], record["declaration"].strip("\n") + "\n"
    reference = head + record["canonical_solution"].rstrip() + "\n"
    return Case(
        name=record["task_id"],
        kind=record["bug_type"],
        files={
            "solution.py": head + record["buggy_solution"].rstrip() + "\n",
            "test_solution.py": split_checks(record[shown], entry),
        },
        target="solution.py",
        right=partial(_agrees, reference, entry, _inputs(record["test"], entry, record["task_id"])),
        reference=reference,
    )


def split_checks(text: str, entry: str) -> str:
    """Turn the body of `check` into one test a statement; assignments come before each test that follows them."""
    tree = ast.parse(text.strip())
    check = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "check")
    others = [
        n
        for n in tree.body
        if isinstance(n, ast.FunctionDef | ast.Import | ast.ImportFrom) and n is not check
    ]
    lines = ["from solution import *", f"from solution import {entry}", *map(ast.unparse, others)]
    argument = check.args.args[0].arg
    before = [] if argument == entry else [f"{argument} = {entry}"]
    number = 0
    for statement in check.body:
        if not any(isinstance(each, ast.Assert) for each in ast.walk(statement)):
            before.append(ast.unparse(statement))
        elif any(isinstance(each, ast.Call) for each in ast.walk(statement)):
            number += 1
            body = "\n".join([*before, ast.unparse(statement)]).replace("\n", "\n    ")
            lines.append(f"\n\ndef test_{number}():\n    {body}")
    return "\n".join(lines) + "\n"


def _inputs(text: str, entry: str, seed: str) -> list[list[Any]]:
    """Inputs of the checks as far as they are literals, and those made by changing them."""
    calls = [each for each in ast.walk(ast.parse(text.strip())) if isinstance(each, ast.Call)]
    named = [
        each for each in calls if getattr(each.func, "id", "") in (entry, "candidate") and not each.keywords
    ]
    given = [each for each in map(_literals, named) if each]
    draw = Random(seed)
    return given + [varied(draw, given) for _ in range(HELD_OUT if given else 0)]


def _literals(call: ast.Call) -> list[Any] | None:
    """The arguments of a call, or None where one is computed or no JSON."""
    try:
        found = [ast.literal_eval(each) for each in call.args]
        json.dumps(found)
    except (ValueError, TypeError):
        return None
    return found


def _agrees(reference: str, entry: str, inputs: Sequence[list[Any]], text: str) -> bool:
    found = answers(text, entry, inputs, QUICK * 10)
    return alike(answers(reference, entry, inputs, QUICK * 10), found, 1e-6)
