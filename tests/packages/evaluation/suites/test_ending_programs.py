"""A program that ends the process of its tests with success is not solved, in any suite whose tests share it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from packages.evaluation.mining.inject_faults import InjectionLimits, inject_faults
from packages.evaluation.mining.mine_fixes import MiningLimits, mine_fixes
from packages.evaluation.mining.task_copy import read_base_files
from packages.evaluation.mining.test_runs import TestRun, build_check, read_judges
from packages.evaluation.suites.file_patch import render_patch
from packages.evaluation.suites.patched_files import list_patched_paths
from packages.evaluation.tasks.folder_files import write_contents
from packages.evaluation.tasks.suite_folder import load_suite
from packages.evaluation.tasks.task_folder import Task
from tests.support.evaluation_tasks import build, open_checkers, write_tree
from tests.support.suite_sources import WRITERS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

AT_IMPORT = "import os\nos._exit(0)\n"
AT_CALL = """\
def leave(*arguments, **named):
    import os

    os._exit(0)


class Solution:
    def __getattr__(self, name):
        return leave


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return leave


{names}
"""
"""A module all of whose functions end the process."""

SHOP = {
    "shop.py": "def total(prices):\n    return sum(prices) - 1\n",
    "test_shop.py": "from shop import total\n\n\ndef test_empty():\n    assert total([1]) == 0\n",
}
MENDED = {
    "shop.py": "def total(prices):\n    return sum(prices)\n",
    "test_shop.py": "from shop import total\n\n\ndef test_total():\n    assert total([1]) == 1\n",
}


def end_program(task: Task, text: str) -> bytes:
    """Return a patch that puts a text in place of the programs that the reference changes."""
    paths = [each for each in list_patched_paths(task.reference or b"") if each.endswith(".py")]
    before = read_base_files(task, paths)
    names = [
        line.split("(")[0].removeprefix("def ")
        for content in before.values()
        for line in content.decode().splitlines()
        if line.startswith("def ")
    ]
    lines = "\n".join(f"{name} = leave" for name in names)
    return render_patch(before, dict.fromkeys(before, text.replace("{names}", lines).encode()))


def assert_none_is_solved(task: Task) -> None:
    with open_checkers() as checkers:
        assert task.reference is not None
        assert checkers.run(task, task.reference).code == 0
        for text in (AT_IMPORT, AT_CALL):
            ended = checkers.run(task, end_program(task, text))
            assert ended.code != 0, (task.name, text, ended.output)


@pytest.mark.parametrize("suite", ["quixbugs", "humanevalfix", "debugbench", "refactory", "polyglot"])
def test_a_program_of_a_public_suite_that_ends_its_process_is_not_solved(suite: str, tmp_path: Path) -> None:
    _, (task,) = build(suite, WRITERS[suite](tmp_path / "source").source, tmp_path / "suite", limit=1)
    assert_none_is_solved(task)


def test_a_project_that_ends_its_process_is_not_solved(tmp_path: Path) -> None:
    """Tasks of a history, and by faults; by pytest's report, whatever its exit code says."""
    shop = tmp_path / "shop"
    for message, files in (("Begin", SHOP), ("Fix the total, which was too low", MENDED)):
        write_tree(shop, files)
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", message]):
            subprocess.run(["git", *identity, *arguments], cwd=shop, check=True)
    mine_fixes(shop, tmp_path / "mined", limits=MiningLimits(tasks=1))
    inject_faults(shop, tmp_path / "injected", limits=InjectionLimits(tasks=1))
    for suite in ("mined", "injected"):
        (task,) = load_suite(tmp_path / suite).tasks
        assert "--junitxml" in task.file.check
        assert_none_is_solved(task)
        with open_checkers() as checkers:
            quits = b"import pytest\n\n\ndef total(prices):\n    pytest.exit('enough', returncode=0)\n"
            before = read_base_files(task, ["shop.py"])
            assert checkers.run(task, render_patch(before, {"shop.py": quits})).code != 0


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("def total(prices):\n    return sum(prices)\n", 0),
        (AT_IMPORT, 1),
        (SHOP["shop.py"], 1),
        ("import os\nimport sys\n\nprint('Ran 1 test', file=sys.stderr, flush=True)\nos._exit(0)\n", 1),
        ("import unittest\n\n\ndef total(prices):\n    raise unittest.SkipTest('enough')\n", 1),
    ],
)
@pytest.mark.parametrize("arguments", ["-v test_shop", "discover -v"])
def test_a_run_of_unittest_counts_by_the_tests_that_passed(
    arguments: str, program: str, code: int, tmp_path: Path
) -> None:
    case = "import unittest\n\nfrom shop import total\n\n\nclass Totals(unittest.TestCase):\n"
    case += "    def test_total(self):\n        self.assertEqual(total([1]), 1)\n"
    write_tree(tmp_path, {"shop.py": program, "test_shop.py": case})
    run = TestRun(
        failed=frozenset(),
        passed=frozenset(),
        usable=True,
        ran=1,
        command=f"python3 -m unittest {arguments}",
        runner="unittest",
        seconds=1.0,
    )
    write_contents(read_judges(run), tmp_path)
    done = subprocess.run(["sh", "-c", build_check(run, [])], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == code, done
