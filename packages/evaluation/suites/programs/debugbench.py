"""DebugBench in Python (Tian et al., 2024): LeetCode programs into which a fault was put.

It has no tests, so they are made: the published examples are read from the statement, more inputs are made by changing
those, and the right program says what should come out. Ten such inputs become tests, fifty are the checker's. All
programs of a problem are in one half.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from packages.evaluation.suites.built_task import (
    BuildRequest,
    BuiltTask,
    MissingTask,
    build_program_task,
    make_task_name,
)
from packages.evaluation.suites.programs.program_answers import (
    CHECK,
    ProgramCases,
    agree_all,
    compute_answers,
)
from packages.evaluation.suites.programs.varied_inputs import vary_arguments
from packages.evaluation.suites.scratch_workspace import open_scratch
from packages.evaluation.suites.source_folder import read_data_file
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tools.core.workspace import Workspace

SEMANTIC = (
    "condition error",
    "faulty indexing",
    "operation error",
    "other error",
    "variable error",
    "undefined methods",
    "undefined objects",
    "misused == or =",
)
"""Kinds of fault that no parser finds."""

TESTS, HELD_OUT, LEAST = 10, 50, 20

QUICK = 0.5
"""Processor seconds for one call of the right program; inputs that take longer make no good tests."""

SECONDS = 120.0

PROMPT = """\
`solution.py` is meant to solve the problem below, but it has a fault: tests in `test_solution.py` fail.

{statement}

Find the fault and mend it in `solution.py`. Leave the tests as they are; the program has to be right for other inputs,
too.
"""

PREAMBLE = """\
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, re, string, sys
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import ceil, comb, floor, gcd, inf, log, log2, sqrt
from operator import *
from typing import *

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A record of the data set that can be called: `inputs` are the published examples' arguments."""

    kind: str
    entry: str
    buggy: str
    right: str
    statement: str
    inputs: Sequence[list[Any]]


def build_tasks(request: BuildRequest) -> Iterator[BuiltTask | MissingTask]:
    """Yield the programs in the order of their names' hashes, so that the first ones are a sample of all kinds."""
    records = [(kind, each) for kind in SEMANTIC for each in _read_records(request.source, kind)]
    named = {
        make_task_name(each["slug"], _digest(each["buggy_code"])): (kind, each) for kind, each in records
    }
    with open_scratch(request.access) as at:
        for name in sorted(named, key=_digest):
            kind, record = named[name]
            if not request.selects(record["slug"], "python") or not request.is_wanted(name):
                continue
            program = _read_program(kind, record)
            if program is None:
                yield MissingTask(name=name, reason="its examples cannot be read as values")
            else:
                yield _build_task(name, program, at)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]


def _read_records(source: Path, kind: str) -> list[dict[str, Any]]:
    content = read_data_file(source, f"benchmark/python3_{kind}.json")
    found: list[dict[str, Any]] = json.loads(content) if content else []
    return found


def _read_program(kind: str, record: Mapping[str, Any]) -> Program | None:
    """Return None if the program cannot be called with what the statement's examples say."""
    try:
        tree = ast.parse(record["oracle_code"])
        ast.parse(record["buggy_code"])
    except SyntaxError:  # the data set has programs for other interpreters
        return None
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Solution"]
    methods = [n for n in classes[0].body if isinstance(n, ast.FunctionDef)] if classes else []
    public = [n for n in methods if n.args.args and re.search(rf"\b{n.name}\b", record["buggy_code"])]
    if not public or "TreeNode" in record["oracle_code"] or "ListNode" in record["oracle_code"]:
        return None
    for method in public:
        names = [each.arg for each in method.args.args[1:]]
        inputs = [_read_arguments(text, names) for text in record["examples"]]
        if names and inputs and None not in inputs:
            return Program(
                kind=kind,
                entry=f"Solution.{method.name}",
                buggy=PREAMBLE + record["buggy_code"].strip("\n") + "\n",
                right=PREAMBLE + record["oracle_code"].strip("\n") + "\n",
                statement=_format_statement(record),
                inputs=[each for each in inputs if each is not None],
            )
    return None


def _format_statement(record: Mapping[str, Any]) -> str:
    parts = [str(record.get("description", "")).strip(), *(str(each).strip() for each in record["examples"])]
    text = "\n\n".join(each for each in parts if each)
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def _read_arguments(example: str, names: Sequence[str]) -> list[Any] | None:
    """Return the arguments that an example's `Input:` line gives."""
    match = re.search(r"Input:?\s*(.*?)\s*\n\s*Output", example, re.S)
    if match is None:
        return None
    parts = re.split(r"(?:^|,\s*)(\w+)\s*=\s*", match[1])
    given = dict(zip(parts[1::2], parts[2::2], strict=False))
    if set(given) != set(names):
        return None
    try:
        return [ast.literal_eval(_to_python(given[name])) for name in names]
    except (ValueError, SyntaxError):  # prose, or a shape that is no literal
        return None


def _to_python(text: str) -> str:
    swaps = {"true": "True", "false": "False", "null": "None"}
    return re.sub(r"\b(true|false|null)\b", lambda m: swaps[m[0]], text.strip())


def _build_task(name: str, program: Program, at: Workspace) -> BuiltTask | MissingTask:
    draw = Random(name)
    made = [vary_arguments(draw, program.inputs) for _ in range(3 * (TESTS + HELD_OUT))]
    distinct = {json.dumps(each): each for each in [*program.inputs, *made]}
    inputs = list(distinct.values())
    answers = compute_answers(at, program.right, program.entry, inputs, QUICK)
    useful = [(i, a) for i, a in zip(inputs, answers, strict=True) if "value" in a]
    published = len([each for each in answers[: len(program.inputs)] if "value" in each])
    if published < len(program.inputs) or len(useful) < published + LEAST:
        return MissingTask(name=name, reason="its right program answers too few inputs")
    tests, held_out = useful[: published + TESTS], useful[published + TESTS :][:HELD_OUT]
    found = compute_answers(at, program.buggy, program.entry, [each for each, _ in tests], QUICK * 4)
    if agree_all([answer for _, answer in tests], found):
        return MissingTask(name=name, reason="no test tells the faulty program from the right one")
    checked = [*tests, *held_out]
    cases = ProgramCases(
        target="solution.py",
        entry=program.entry,
        inputs=[each for each, _ in checked],
        expected=[answer for _, answer in checked],
        margins=[0.0] * len(checked),
        seconds=QUICK * 10,
    )
    return build_program_task(
        name,
        prompt=PROMPT.format(statement=program.statement),
        files={
            "solution.py": program.buggy.encode(),
            "test_solution.py": _write_tests(program, [(i, a["value"]) for i, a in tests]).encode(),
        },
        check=CHECK,
        checker_files=cases.build_checker(),
        solution={"solution.py": program.right.encode()},
        language="python",
        tags=["debugbench", program.kind],
        seconds=SECONDS,
    )


def _write_tests(program: Program, tests: Sequence[tuple[Any, Any]]) -> str:
    rows = "\n".join(f"    ({arguments!r}, {value!r})," for arguments, value in tests)
    owner, _, method = program.entry.rpartition(".")
    return (
        f"import pytest\nfrom solution import {owner}\n\nCASES = [\n{rows}\n]\n\n\n"
        f"def plain(value):\n"
        f"    if isinstance(value, float):\n        return round(value, 6)\n"
        f"    if isinstance(value, (list, tuple)):\n        return [plain(each) for each in value]\n"
        f"    return value\n\n\n"
        f'@pytest.mark.parametrize("arguments, expected", CASES)\n'
        f"def test_{method}(arguments, expected):\n"
        f"    assert plain({owner}().{method}(*arguments)) == plain(expected)\n"
    )
