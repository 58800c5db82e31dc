"""The benchmark of bugs mended with a local model: its tasks, its mutations and its truth."""

from __future__ import annotations

import ast
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.local_model.__main__ import judge, print_sums
from benchmarks.local_model.tasks import (
    is_development,
    iterate_mutations,
    read_humaneval_fix,
    read_other_languages,
)
from packages.offline.repair.result import Fix

ENTRY = {
    "entry_point": "double",
    "prompt": "def double(x):\n",
    "buggy_solution": "    return x + 2\n",
    "example_test": "def check(double):\n    assert double(3) == 6\ncheck(double)\n",
    "test": "def check(double):\n    assert double(3) == 6\n    assert double(0) == 0\ncheck(double)\n",
}


def make_fix(new: str) -> Fix:
    return Fix(
        path="solution.py", line=2, function="double", old="    return x + 2", new=new, template="", why="",
        tests=(), confidence=0.9,
    )  # fmt: skip


def test_only_the_development_half_is_read(tmp_path: Path) -> None:
    names = [f"Python/{number}" for number in range(20)]
    data = tmp_path / "humanevalpack.jsonl"
    data.write_text("".join(json.dumps({**ENTRY, "task_id": name}) + "\n" for name in names))
    read = [each.id for each in read_humaneval_fix(data)]
    assert read == [name for name in names if is_development(name)]
    assert 0 < len(read) < len(names)


@pytest.mark.slow
@pytest.mark.parametrize(("new", "right"), [("    return x * 2", True), ("    return x + 3", False)])
def test_hidden_tests_are_the_truth(new: str, right: bool, tmp_path: Path) -> None:
    data = tmp_path / "humanevalpack.jsonl"
    data.write_text(json.dumps({**ENTRY, "task_id": "Python/0"}))
    [task] = read_humaneval_fix(data)
    visible: dict[str, object] = {}
    exec(task.files[task.tests[0]].replace("from solution import *", task.text), visible)
    with pytest.raises(AssertionError):
        visible["test_examples"]()  # type: ignore[operator]
    assert judge(task, [make_fix(new)]) is right


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize(("old", "new", "right"), [("+ 2", "* 2", True), ("+ 2", "+ 3", False)])
def test_other_languages_are_judged_by_the_published_test(
    old: str, new: str, right: bool, tmp_path: Path
) -> None:
    record = {
        "task_id": "JavaScript/0",
        "entry_point": "double",
        "declaration": "const double = (x) => {\n",
        "buggy_solution": "  return x + 2\n}\n",
        "canonical_solution": "  return x * 2\n}\n",
        "example_test": "console.assert(double(3) === 6)\n",
        "test": "console.assert(double(3) === 6)\nconsole.assert(double(0) === 0)\n",
    }
    numbers = (n for n in range(9) if is_development(f"JavaScript/{n}"))
    data = tmp_path / "humanevalpack.jsonl"
    data.write_text(json.dumps({**record, "task_id": f"JavaScript/{next(numbers)}"}))
    [task] = read_other_languages(data)
    assert "double(0)" not in task.files["solution.test.js"]
    assert judge(task, [replace(make_fix(new), path="solution.js", old=old, new=new)]) is right


def test_mutations_change_one_place_of_a_function() -> None:
    text = (
        "LIMIT = 3\n\n\ndef f(é, b):\n    total = é + (b)\n    if é < 2 and not b:\n        total = max(é, b)\n"
        "    return total\n"
    )
    found = dict(iterate_mutations(text))
    changed = {
        what: [line.strip() for line in new.split("\n") if line not in text.split("\n")]
        for what, new in found.items()
    }
    assert changed == {
        "5:statement left out": ["pass"],
        "6:connective": ["if é < 2 or not b:"],
        "6:comparison": ["if é <= 2 and not b:"],
        "6:number": ["if é < 3 and not b:"],
        "6:negation": ["if é < 2 and b:"],
        "7:statement left out": ["pass"],
        "7:arguments": ["total = max(b, é)"],
    }
    assert all(ast.parse(new) for new in found.values())


def test_sums_count_claims_apart_from_what_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    entry = {
        "suite": "s",
        "half": "held",
        "way": "both",
        "outcome": "fixed",
        "seconds": 4.0,
        "tried": 10,
        "asked": 2,
    }
    told = {"right": True, "right_among_five": True, "claimed": True}
    missed = {"right": False, "right_among_five": True, "claimed": True}
    green = {**entry, **missed, "outcome": "all-pass"}
    print_sums([{**entry, **told}, {**entry, **missed}, green])
    assert "| s, held | both | 2 | 1 | 2 | 2 | 1 | 4 | 10 | 2 | 0 | 0 | 0 |" in capsys.readouterr().out
