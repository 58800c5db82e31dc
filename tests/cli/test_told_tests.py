"""A prompt that tells how the tests are run: that command runs them, where nothing in the repository shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import run
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

CHECKS = "from total import total\n\n\ndef test_total():\n    assert total([2, 3]) == 5\n    assert total([]) == 0\n"


def begin(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("total.py", "def total(prices):\n    return sum(prices) - 1\n")
    repo.write("checks/verify.py", CHECKS)
    repo.commit_all()
    return repo


def test_the_told_command_runs_the_tests_of_the_turn(tmp_path: Path) -> None:
    repo = begin(tmp_path)
    told = "The tests are run with `python -m pytest checks/verify.py`."
    done = run("run", "--model", "offline", f"The tests fail. Fix it. {told}", cwd=repo.root)
    assert done.code == 0, done.out + done.err
    assert "return sum(prices)\n" in repo.read("total.py")


def test_a_told_command_counts_by_its_tests_and_not_by_its_exit_status(tmp_path: Path) -> None:
    repo = begin(tmp_path)
    done = run(
        "run", "--model", "offline", "Fix the failing tests. The tests are run with `true`.", cwd=repo.root
    )
    assert done.code == 13, done.out  # with a setting it is 3: all tests pass already
    assert repo.read("total.py") == "def total(prices):\n    return sum(prices) - 1\n"
