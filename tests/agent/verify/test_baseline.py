"""Tests that failed before a turn are no failures of the turn; all others still are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

TOTAL = "def total(prices):\n    return sum(prices) - 1\n\n\ndef label(cents):\n    return str(cents)\n"
TESTS = """\
from total import label, total


def test_total():
    assert total([1, 2, 3]) == 6


def test_label():
    assert label(5) == "5.00"
"""
MEND = call("edit", path="total.py", old="sum(prices) - 1", new="sum(prices)")
PROMPT = "the sum is one too small: fix total()"


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    return make_repo(tmp_path, TESTS)


def make_repo(tmp_path: Path, tests: str, **files: str) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("total.py", TOTAL)
    repo.write("test_total.py", tests)
    for name, text in files.items():
        repo.write(f"{name}.py", text)
    repo.write(".gitignore", "__pycache__\n.pytest_cache\n")
    repo.commit_all("Start")
    return repo


def play(repo: Repo, turns: list[dict[str, Any]], *options: str, prompt: str = PROMPT) -> Result:
    model = script(repo.root.parent, turns)
    return run("run", prompt, "--model", model, *options, cwd=repo.root, timeout=180)


def count_commits(repo: Repo) -> int:
    return int(repo.git("rev-list", "--count", "HEAD"))


@pytest.mark.parametrize("runs_first", [False, True])
def test_a_good_fix_beside_a_test_that_failed_before_is_done_and_committed(
    shop: Repo, runs_first: bool
) -> None:
    first = [{"calls": [call("run_tests")]}] if runs_first else []
    result = play(shop, [*first, {"calls": [MEND]}, {"text": "Mended total."}], "--output", "json")
    assert result.code == 0, result.err
    (end,) = result.events
    assert end["verification"] == (
        "passed: 1 passed; 1 failed before this turn as well: test_total.py::test_label"
    )
    assert shop.committed() == ["total.py"]


def test_the_output_for_people_names_the_old_failures(shop: Repo) -> None:
    result = play(shop, [{"calls": [MEND]}, {"text": "Mended total."}])
    assert result.code == 0, result.err
    assert "1 passed; 1 failed before this turn as well: test_total.py::test_label" in result.err


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return str(cents)", "return str(cents + 1)"),  # another message
        ("return str(cents)", "raise KeyError(cents)"),  # another exception
        ("return sum(prices) - 1", "return sum(prices) - 2"),  # another message, of the other test
    ],
)
def test_a_failure_that_changed_is_one_of_the_turn(shop: Repo, old: str, new: str) -> None:
    edit = call("edit", path="total.py", old=old, new=new)
    result = play(shop, [{"calls": [edit]}, {"text": "Done."}, {"text": "Done, really."}])
    assert result.code == 1, result.err
    assert count_commits(shop) == 1


def test_a_new_failure_beside_an_old_one_fails_and_both_are_named(shop: Repo) -> None:
    shop.write("test_more.py", "from total import label\n\n\ndef test_more():\n    assert label(7) == '7'\n")
    shop.commit_all("One more")
    edit = call("edit", path="total.py", old="str(cents)", new='"5" if cents == 5 else "no"')
    turns = [
        {"calls": [edit, MEND]},
        {"text": "Done."},
        {"text": "Done, really.", "expect": ["failed before this turn as well: test_total.py::test_label"]},
    ]
    result = play(shop, turns, "--output", "json")
    assert result.code == 1, result.err
    assert "1 failed before this turn as well: test_total.py::test_label" in result.events[0]["verification"]


def test_a_test_that_no_longer_loads_fails(shop: Repo) -> None:
    edit = call("edit", path="total.py", old="def label", new="def tag")
    result = play(shop, [{"calls": [edit]}, {"text": "Done."}, {"text": "Done, really."}])
    assert result.code == 1, result.err


@pytest.mark.parametrize("prompt", ["make the failing tests pass", "make test_label pass"])
def test_tests_that_the_prompt_wants_to_pass_are_not_excused(shop: Repo, prompt: str) -> None:
    result = play(shop, [{"calls": [MEND]}, {"text": "Done."}, {"text": "Really."}], prompt=prompt)
    assert result.code == 1, result.err


def test_other_tests_than_the_wanted_one_are_excused(shop: Repo) -> None:
    result = play(shop, [{"calls": [MEND]}, {"text": "Done."}], prompt="make test_total pass")
    assert result.code == 0, result.err


def test_a_model_that_gives_up_is_not_excused(shop: Repo) -> None:
    give_up = call("finish", summary="I cannot", status="not achieved")
    result = play(shop, [{"calls": [MEND]}, {"calls": [give_up]}, {"calls": [give_up]}])
    assert result.code == 1, result.err
    assert count_commits(shop) == 1


def test_a_failure_of_an_earlier_turn_of_the_session_stays_its_own(shop: Repo) -> None:
    spoil = call("edit", path="total.py", old="return str(cents)", new="raise KeyError(cents)")
    assert play(shop, [{"calls": [spoil]}, {"text": "Done."}, {"text": "Really."}]).code == 1
    model = script(shop.root.parent, [{"calls": [MEND]}, {"text": "Done."}, {"text": "Really."}], "two.json")
    result = run("resume", "-p", PROMPT, "--model", model, cwd=shop.root, timeout=180)
    assert result.code == 1, result.err
    assert count_commits(shop) == 1


def test_the_baseline_can_be_switched_off(shop: Repo) -> None:
    model = script(shop.root.parent, [{"calls": [MEND]}, {"text": "Done."}, {"text": "Really."}])
    strict = {"PATCHWRIGHT_VERIFY__BASELINE": "false"}
    assert run("run", PROMPT, "--model", model, cwd=shop.root, env=strict, timeout=180).code == 1


def test_the_copy_is_tested_where_an_editable_installation_leads_to_the_workspace(tmp_path: Path) -> None:
    """A path hook of the project imports the changed file: its failure is not taken for an old one."""
    hook = "import sys\n\nsys.path.insert(0, {place!r})\n".format(place=str(tmp_path / "shop"))
    repo = make_repo(tmp_path, TESTS, conftest=hook)
    spoil = call("edit", path="total.py", old="return str(cents)", new="raise KeyError(cents)")
    result = play(repo, [{"calls": [spoil, MEND]}, {"text": "Done."}, {"text": "Really."}])
    assert result.code == 1, result.err


def test_unittest_failures_have_a_baseline_as_well(tmp_path: Path) -> None:
    tests = (
        "import unittest\n\nfrom total import label, total\n\n\nclass Totals(unittest.TestCase):\n"
        "    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n\n"
        "    def test_label(self):\n        self.assertEqual(label(5), '5.00')\n"
    )
    repo = make_repo(tmp_path, tests)
    result = play(repo, [{"calls": [MEND]}, {"text": "Done."}], "--tests", "python -m unittest -v")
    assert result.code == 0, result.err
