"""HumanEvalFix: the published checks as one test an assertion, and inputs that no test shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.repair.humanevalfix import DATA, cases, half_of, split_checks

CHECKS = """\
import math

def check(twice):
    small = 2
    assert twice(small) == 4
    assert True
    assert twice(0) == 0
"""
RECORD = {
    "entry_point": "twice",
    "declaration": "\ndef twice(n):\n",
    "canonical_solution": "    return 2 * n\n",
    "buggy_solution": "    return n ** 2\n",
    "test": CHECKS,
    "example_test": "",
    "bug_type": "operator misuse",
}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    file = tmp_path / DATA
    file.parent.mkdir(parents=True)
    names = (f"Python/{number}" for number in range(20))
    file.write_text("".join(json.dumps({**RECORD, "task_id": name}) + "\n" for name in names))
    return tmp_path


def test_each_assertion_becomes_a_test_with_the_assignments_before_it() -> None:
    assert split_checks(CHECKS, "twice") == (
        "from solution import *\nfrom solution import twice\nimport math\n"
        "\n\ndef test_1():\n    small = 2\n    assert twice(small) == 4\n"
        "\n\ndef test_2():\n    small = 2\n    assert twice(0) == 0\n"
    )


@pytest.mark.slow
def test_cases_are_of_one_half_and_judged_by_inputs_that_no_test_shows(clone: Path) -> None:
    found = list(cases(clone, half="development", sample=99, seed=1, weak=False))
    assert {each.name for each in found} == {
        name for name in (f"Python/{n}" for n in range(20)) if half_of(name) == "development"
    }
    case = found[0]
    assert case.right(case.reference)
    assert not case.right(case.files[case.target])


def test_a_task_without_examples_is_left_out_where_only_these_are_shown(clone: Path) -> None:
    assert not list(cases(clone, half="development", sample=99, seed=1, weak=True))
