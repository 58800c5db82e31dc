"""Suites of Python programs, built of small data sets in their own layouts: the fault fails, the reference passes."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from agent.evaluation.suites.built_task import compute_half
from sandbox.errors import UserError
from tests.support.evaluation_tasks import build, open_checkers, write_tree

# Each runs some twenty programs in a sandbox.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def assert_faults_fail_and_references_pass(tasks: object) -> None:
    with open_checkers() as checkers:
        for task in tasks:  # type: ignore[attr-defined]
            assert checkers.run(task).code != 0, task.name
            assert task.reference is not None
            solved = checkers.run(task, task.reference)
            assert solved.code == 0, (task.name, solved.output)


REVERSE = "prev = None\n    while node:\n        node.successor, prev, node = prev, node, node.successor\n"

QUIX = {
    "gcd": ("return gcd(a % b, b) if b else a", "return gcd(b, a % b) if b else a", "a, b"),
    "bitcount": ("return bin(n)[2:].count('0')", "return bin(n).count('1')", "n"),
    "sqrt": (
        "x = x0 = a / 2\n    while abs(x - x0) > epsilon:\n        x = 0.5 * (x + a / x)\n    return x",
        "x = a / 2\n    while abs(x * x - a) > epsilon:\n        x = 0.5 * (x + a / x)\n    return x",
        "a, epsilon",
    ),
    "flatten": (
        "for x in arr:\n        yield from flatten(x) if isinstance(x, list) else [[x]]",
        "for x in arr:\n        yield from flatten(x) if isinstance(x, list) else [x]",
        "arr",
    ),
    "reverse_linked_list": (
        f"{REVERSE}    return node",
        f"{REVERSE}    return prev",
        "node",
    ),
}


def test_quixbugs(tmp_path: Path) -> None:
    source = write_tree(tmp_path / "QuixBugs", {"conftest.py": "", "python_testcases/node.py": ""})
    for name, (bad, good, arguments) in QUIX.items():
        head = f"def {name}({arguments}):\n    "
        write_tree(
            source,
            {
                f"python_programs/{name}.py": f'{head}{bad}\n\n"""\nThe fault is told here.\n"""\n',
                f"correct_python_programs/{name}.py": f"{head}{good}\n",
                f"python_testcases/test_{name}.py": f"from python_programs.{name} import {name}\n",
            },
        )
    summary, tasks = build("quixbugs", source, tmp_path / "suite")
    assert (summary.written, summary.missing) == (5, {"the program is not in the folder": 35})
    assert [each.name for each in tasks] == sorted(QUIX)
    program = (tasks[0].base_folder / "python_programs/bitcount.py").read_text()
    assert "told here" not in program
    assert_faults_fail_and_references_pass(tasks)
    again, _ = build("quixbugs", source, tmp_path / "suite")
    assert (again.written, again.kept) == (0, 5)


PROBLEMS = {
    "add": ("a + b - 1", "a + b"),
    "largest": ("min(a, b)", "max(a, b)"),
    "scale": ("a * b + b", "a * b"),
    "gap": ("a - b", "abs(a - b)"),
    "first-or": ("a and b", "a or b"),
    "power": ("a ** 2 + b", "a + b ** 2"),
}


def test_debugbench_makes_tests_and_keeps_a_problem_in_one_half(tmp_path: Path) -> None:
    def record(slug: str, bad: str, good: str) -> dict[str, object]:
        head = "class Solution:\n    def solve(self, a: int, b: int) -> int:\n        return "
        examples = [f"Input: a = {a}, b = {b}\nOutput: {a}" for a, b in ((3, 4), (20, 7), (35, 2))]
        return {
            "slug": slug,
            "description": f"Compute {slug}.",
            "examples": examples,
            "oracle_code": head + good,
            "buggy_code": head + bad,
        }

    rows = [record(name, *programs) for name, programs in PROBLEMS.items()]
    unread = {**record("tree", "a", "b"), "examples": ["Input: root = a drawing\nOutput: 1"]}
    source = tmp_path / "DebugBench"
    write_tree(source, {"benchmark/python3_condition error.json": json.dumps([*rows, unread])})
    summary, tasks = build("debugbench", source, tmp_path / "suite")
    assert (summary.written, summary.missing) == (6, {"its examples cannot be read as values": 1})
    assert "Compute gap." in "".join(each.prompt for each in tasks)
    assert_faults_fail_and_references_pass(tasks)
    _, halved = build("debugbench", source, tmp_path / "half", half="development")
    slugs = {name for name in PROBLEMS if any(each.name.startswith(f"{name}-") for each in halved)}
    assert slugs == {name for name in PROBLEMS if compute_half(name) == "development"}


def test_refactory_reads_its_archive(tmp_path: Path) -> None:
    source = tmp_path / "refactory"
    source.mkdir()
    wrong = ["x", "x + 1", "x * 3", "-x", "x - 2"]
    with zipfile.ZipFile(source / "data.zip", "w") as archive:
        question = "data/question_1"
        archive.writestr(f"{question}/description.txt", "Double a number.")
        archive.writestr(f"{question}/code/reference/reference.py", "def twice(x):\n    return x * 2\n")
        for number, expression in enumerate(wrong):
            name = f"{question}/code/wrong/wrong_1_{number:03}.py"
            archive.writestr(name, f"def twice(x):\n    return {expression}\n")
        for number, value in enumerate((3, 5)):
            archive.writestr(f"{question}/ans/input_{number:03}.txt", f"twice({value})")
            archive.writestr(f"{question}/ans/output_{number:03}.txt", str(value * 2))
    summary, tasks = build("refactory", source, tmp_path / "suite")
    assert summary.written == 5
    assert "Double a number." in tasks[0].prompt
    assert_faults_fail_and_references_pass(tasks)


TEST = """\
import ast
import unittest


class Renamed(unittest.TestCase):
    def test_new_name(self):
        names = [node.name for node in ast.walk(ast.parse(open("../src/shop.py").read())) if hasattr(node, "name")]
        self.assertIn("total{number}", names)

    def test_module_is_there(self):
        open("../src/shop.py").close()


unittest.main()
"""


def test_refactorbench(tmp_path: Path) -> None:
    files = {"repositories/flask_refactor/src/shop.py": "def total():\n    return 0\n"}
    entries = []
    for number in range(5):
        test, problem = (
            f"flask_refactor/rename{number}-test.py",
            f"problems/base_problems/rename{number}-task.txt",
        )
        files[f"tests/{test}"] = TEST.format(number=number)
        files[problem] = f"Rename total to total{number}."
        entries.append(f"    '../tests/{test}': '../{problem}',")
    entries.append("    '../tests/django_refactor/x-test.py': '../problems/base_problems/x-task.txt',")
    files["scripts/base_mapping.py"] = "file_mapping = {\n" + "\n".join(entries) + "\n}\n"
    source = write_tree(tmp_path / "RefactorBench", files)
    summary, tasks = build("refactorbench", source, tmp_path / "suite")
    assert (summary.written, summary.missing) == (5, {"django runs only when it is installed": 1})
    with open_checkers() as checkers:
        for number, task in enumerate(tasks):
            assert checkers.run(task).code == 1
            head = "--- a/src/shop.py\n+++ b/src/shop.py\n@@ -1,2 +1,2 @@\n"
            patch = f"{head}-def total():\n+def total{number}():\n     return 0\n"
            assert checkers.run(task, patch.encode()).code == 0
    _, refused = build("refactorbench", source, tmp_path / "refused", expect="refuse")
    assert {(each.file.expect, each.file.check) for each in refused} == {("refuse", "")}


def test_an_unknown_suite_and_an_empty_source_are_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no suite 'quix'"):
        build("quix", tmp_path, tmp_path / "suite")
    with pytest.raises(UserError, match="no task of debugbench could be made"):
        build("debugbench", tmp_path, tmp_path / "suite")
