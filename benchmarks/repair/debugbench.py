"""DebugBench in Python (Tian et al., 2024): LeetCode programs into which a fault was put.

It has no tests, so they are made: the published examples are read from the statement, more inputs are made by
changing those, and the right program says what should come out. Ten such inputs become tests, fifty are held out.
A clone of github.com/thunlp/DebugBench is read, nothing of it is kept here.
"""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.repair.cases import Case, alike, answers

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
TESTS, HELD_OUT = 10, 50
# Seconds of CPU for one call of the right program; inputs that take longer make no good tests.
QUICK = 0.5
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

    name: str
    kind: str
    entry: str
    buggy: str
    right: str
    inputs: Sequence[list[Any]]


def cases(
    clone: Path, *, half: str, sample: int, seed: int, weak: bool, kinds: Sequence[str] = SEMANTIC
) -> Iterator[Case]:
    """Up to `sample` cases of one half ("development" or "held-out"; programs of one problem share a half).

    weak: only the published examples become tests
    """
    every = [(kind, each) for kind in kinds for each in records(clone, kind) if half_of(each["slug"]) == half]
    Random(seed).shuffle(every)
    made = 0
    for kind, record in every:
        program = _program(kind, record)
        case = _case(program, weak) if program else None
        if case is not None:
            yield case
            made += 1
        if made == sample:
            return


def records(clone: Path, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((clone / "benchmark" / f"python3_{kind}.json").read_text())
    return found


def half_of(slug: str) -> str:
    return "development" if sha256(slug.encode()).digest()[0] % 2 else "held-out"


def _program(kind: str, record: Mapping[str, Any]) -> Program | None:
    """None if the program cannot be called with what the statement's examples say."""
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
        inputs = [_arguments(text, names) for text in record["examples"]]
        if names and inputs and None not in inputs:
            return Program(
                name=f"{record['slug']}#{sha256(record['buggy_code'].encode()).hexdigest()[:6]}",
                kind=kind,
                entry=f"Solution.{method.name}",
                buggy=PREAMBLE + record["buggy_code"].strip("\n") + "\n",
                right=PREAMBLE + record["oracle_code"].strip("\n") + "\n",
                inputs=[each for each in inputs if each is not None],
            )
    return None


def _arguments(example: str, names: Sequence[str]) -> list[Any] | None:
    """The arguments that an example's `Input:` line gives."""
    match = re.search(r"Input:?\s*(.*?)\s*\n\s*Output", example, re.S)
    if match is None:
        return None
    parts = re.split(r"(?:^|,\s*)(\w+)\s*=\s*", match[1])
    given = dict(zip(parts[1::2], parts[2::2], strict=False))
    if set(given) != set(names):
        return None
    try:
        return [ast.literal_eval(_python(given[name])) for name in names]
    except (ValueError, SyntaxError):  # prose, or a shape that is no literal
        return None


def _python(text: str) -> str:
    swaps = {"true": "True", "false": "False", "null": "None"}
    return re.sub(r"\b(true|false|null)\b", lambda m: swaps[m[0]], text.strip())


def _case(program: Program, weak: bool) -> Case | None:
    draw = Random(program.name)
    made = [varied(draw, program.inputs) for _ in range(3 * (TESTS + HELD_OUT))]
    distinct = {json.dumps(each): each for each in [*program.inputs, *made]}
    inputs = list(distinct.values())
    said = answers(program.right, program.entry, inputs, QUICK)
    useful = [(i, a["value"]) for i, a in zip(inputs, said, strict=True) if "value" in a]
    published = len([each for each in said[: len(program.inputs)] if "value" in each])
    if published < len(program.inputs) or len(useful) < published + 20:
        return None
    tests = useful[: published if weak else published + TESTS]
    held_out = useful[published + TESTS : published + TESTS + HELD_OUT]
    found = answers(program.buggy, program.entry, [each for each, _ in tests], QUICK * 4)
    wanted = [{"value": value} for _, value in tests]
    if alike(wanted, found):
        return None  # no test tells the faulty program from the right one
    return Case(
        name=program.name,
        kind=program.kind,
        files={"solution.py": program.buggy, "test_solution.py": _tests(program, tests)},
        target="solution.py",
        right=partial(_agrees, program.entry, [i for i, _ in held_out], [v for _, v in held_out]),
        reference=program.right,
    )


def _agrees(entry: str, inputs: Sequence[Any], values: Sequence[Any], text: str) -> bool:
    return alike([{"value": each} for each in values], answers(text, entry, inputs, QUICK * 10))


def _tests(program: Program, tests: Sequence[tuple[Any, Any]]) -> str:
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


# ── Inputs made from inputs ────────────────────────────────────────────────────────────────────────


def varied(draw: Random, inputs: Sequence[list[Any]]) -> list[Any]:
    """One of the inputs, changed in one to three places, in the bounds that all of them keep."""
    arguments: list[Any] = copy.deepcopy(draw.choice(inputs))
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(arguments))
        arguments[place] = _changed(draw, arguments[place], [each[place] for each in inputs])
    return arguments


def _changed(draw: Random, value: Any, seen: Sequence[Any]) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        low = min(_numbers(seen), default=0)
        return max(min(low, 1) if low >= 0 else -(10**6), value + draw.choice([-3, -2, -1, 1, 2, 3, 7]))
    if isinstance(value, float):
        return round(value + draw.choice([-1.0, -0.5, 0.5, 1.0]), 3)
    if isinstance(value, str):
        return _text(draw, value, "".join(sorted({c for each in seen for c in str(each)})))
    if isinstance(value, list):
        return _list(draw, value, seen)
    return value


def _list(draw: Random, value: list[Any], seen: Sequence[Any]) -> list[Any]:
    lists = [each for each in seen if isinstance(each, list)]
    flat = [each for one in lists for each in one]
    rows = value and all(isinstance(each, list) for each in value)
    copied = copy.deepcopy(value)
    action = draw.choice(["element", "element", "drop", "double", "swap"])
    if not copied:
        return copied
    place = draw.randrange(len(copied))
    if action == "element":
        copied[place] = _changed(draw, copied[place], flat)
    elif action == "drop" and len(copied) > 1:
        del copied[place]
    elif action == "double":
        other = copied[place] if rows else _changed(draw, copied[place], flat)
        copied.insert(draw.randrange(len(copied) + 1), copy.deepcopy(other))
    else:
        other = draw.randrange(len(copied))
        copied[place], copied[other] = copied[other], copied[place]
    if rows and len({len(each) for one in lists for each in one if isinstance(each, list)}) == 1:
        width = len(value[0])
        copied = [each for each in copied if len(each) == width] or copy.deepcopy(value)
    return _kept(copied, lists)


def _kept(value: list[Any], seen: Sequence[list[Any]]) -> list[Any]:
    """The order and distinctness that all examples have are part of what the program may rely on."""
    try:
        if all(len({json.dumps(e) for e in each}) == len(each) for each in seen):
            value = list({json.dumps(e): e for e in value}.values())
        if all(each == sorted(each) for each in seen):
            value = sorted(value)
    except TypeError:  # of several types: no order to keep
        pass
    return value


def _text(draw: Random, value: str, letters: str) -> str:
    if not value or not letters:
        return value
    place = draw.randrange(len(value))
    return draw.choice(
        [
            value[:place] + draw.choice(letters) + value[place + 1 :],
            value[:place] + draw.choice(letters) + value[place:],
            value[:place] + value[place + 1 :] or value,
            value[place:] + value[:place],
        ]
    )


def _numbers(values: Sequence[Any]) -> list[int]:
    return [each for each in values if isinstance(each, int)]
