"""Turns that must not end as done: doubtful changes, questions without a model, weakened tests, mere talk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

PROMPT = "make the failing tests pass"

FEE = """\
def fee(n):
    base = n * 2
    if n > 3:
        return base
    return base + 1
"""
DOUBTFUL = """\
from fee import fee


def test_small():
    assert fee(2) is None


def test_large():
    assert fee(4) == 8
"""
"""What mends the first test is a guess, since nothing says why it should be None."""

TOTAL = "def total(prices):\n    return sum(prices) - 1\n"
TEST_TOTAL = """\
from total import total


def test_total():
    assert total([1, 2, 3]) == 6


def test_zero():
    assert total([1]) == 0
"""


def project(root: Path, **files: str) -> Repo:
    repo = Repo(root)
    for name, text in files.items():
        repo.write(f"{name}.py", text)
    repo.write(".gitignore", "__pycache__\n.pytest_cache\n")
    repo.commit_all("Start")
    return repo


@pytest.fixture
def fee(tmp_path: Path) -> Repo:
    return project(tmp_path / "fee", fee=FEE, test_fee=DOUBTFUL)


@pytest.fixture
def total(tmp_path: Path) -> Repo:
    return project(tmp_path / "total", total=TOTAL, test_total=TEST_TOTAL)


def untouched(repo: Repo) -> bool:
    return repo.git("status", "--porcelain") == "" and repo.git("rev-list", "--count", "HEAD").strip() == "1"


def offline(repo: Repo, prompt: str = PROMPT, *options: str) -> Result:
    return run("run", prompt, "--model", "offline", *options, cwd=repo.root, timeout=180)


def scripted(repo: Repo, turns: list[dict[str, Any]], *options: str, prompt: str = PROMPT) -> Result:
    model = script(repo.root.parent, turns)
    return run("run", prompt, "--model", model, *options, cwd=repo.root)


def test_a_doubtful_change_is_shown_and_not_written(fee: Repo) -> None:
    result = offline(fee)
    assert result.code == 13, result.err
    assert untouched(fee)
    assert "(confidence 0." in result.out
    assert "```diff\n" in result.out
    assert "\n-    return base + 1\n" in result.out
    assert result.out.count("```diff") == 1, "the others are counted, not shown"
    assert "1 more change passes the same tests" in result.out
    assert "--apply" in result.out
    assert "committed nothing" not in result.out


def test_a_doubtful_change_is_written_with_apply(fee: Repo) -> None:
    result = offline(fee, PROMPT, "--apply", "--output", "json")
    assert result.code == 0, result.err
    (end,) = result.events
    assert end["files"] == ["fee.py"]
    assert end["commit"] == fee.head()
    assert "low confidence" in end["summary"]
    message = fee.git("log", "-1", "--format=%B")
    assert message.startswith("Fix fee\n")
    assert "committed nothing" not in message


def test_a_doubtful_change_is_written_once_it_is_accepted(fee: Repo) -> None:
    assert offline(fee).code == 13
    result = run("resume", "-p", "apply it", cwd=fee.root, timeout=180)
    assert result.code == 0, result.err
    assert fee.git("rev-list", "--count", "HEAD").strip() == "2"
    again = run("resume", "-p", "apply it", cwd=fee.root, timeout=180)
    assert again.code == 6, "there is nothing more to apply"


@pytest.mark.parametrize(
    "prompt",
    [
        "which tests fail? do not change anything",
        "make the failing tests pass, but do not change any file",
        "how do I fix the failing test?",
    ],
)
def test_without_a_model_a_question_changes_nothing(total: Repo, prompt: str) -> None:
    result = offline(total, prompt)
    assert result.code == 0, result.err
    assert "1 test fails, 1 passes" in result.out
    assert untouched(total)


def test_a_forbidden_commit_is_not_made(total: Repo) -> None:
    result = offline(total, "fix the failing test, but do not commit")
    assert (result.code, untouched(total)) == (1, True), "it looks for a repair, and finds none"


WEAKER = {
    "an expected value": ("    assert total([1, 2, 3]) == 6\n", "    assert total([1, 2, 3]) == 5\n"),
    "an assertion": ("    assert total([1, 2, 3]) == 6\n", "    pass\n"),
    "a comparison": ("    assert total([1, 2, 3]) == 6\n", "    assert total([1, 2, 3]) <= 6\n"),
    "a way out": ("    assert total([1, 2, 3]) == 6\n", "    assert total([1, 2, 3]) == 6 or True\n"),
}


@pytest.mark.parametrize("what", WEAKER)
def test_a_weakened_test_is_reported_to_the_model_and_then_to_the_person(total: Repo, what: str) -> None:
    old, new = WEAKER[what]
    turns = [
        {"calls": [call("edit", path="test_total.py", old=old, new=new)]},
        {"text": "All tests pass now."},
        {"text": "I leave it.", "expect": ["your changes weaken tests", "test_total.py"]},
    ]
    result = scripted(total, turns, "--output", "json")
    (end,) = result.events
    assert (result.code, end["outcome"], end["commit"]) == (13, "not-achieved", "")
    assert "git commit -a" in end["summary"]
    assert "test_total.py" in end["summary"]
    assert total.git("rev-list", "--count", "HEAD").strip() == "1"
    assert total.git("status", "--porcelain") == " M test_total.py\n", "the changes stay in the files"


def test_a_model_cannot_commit_a_weakened_test_itself(total: Repo) -> None:
    old, new = WEAKER["an expected value"]
    turns = [
        {"calls": [call("edit", path="test_total.py", old=old, new=new)]},
        {"calls": [call("run_tests")]},
        {"calls": [call("git_commit", message="Correct the total")]},
        {"text": "Done.", "expect": ["git_commit: not done: your changes weaken tests"]},
    ]
    result = scripted(total, turns)
    assert result.code == 13, result.err
    assert "git commit -a" in result.out
    assert total.git("rev-list", "--count", "HEAD").strip() == "1"


def test_a_model_that_restores_the_test_ends_as_done(total: Repo) -> None:
    old, new = WEAKER["an expected value"]
    mend = call("edit", path="total.py", old="sum(prices) - 1", new="sum(prices) - (len(prices) == 1)")
    turns = [
        {"calls": [call("edit", path="test_total.py", old=old, new=new)]},
        {"text": "All tests pass now."},
        {"calls": [call("edit", path="test_total.py", old=new, new=old), mend]},
        {"text": "Mended."},
    ]
    result = scripted(total, turns)
    assert result.code == 0, result.err
    assert total.committed() == ["total.py"]


def test_a_test_may_be_changed_when_that_is_asked_for(total: Repo) -> None:
    old, new = WEAKER["an expected value"]
    turns = [{"calls": [call("edit", path="test_total.py", old=old, new=new)]}, {"text": "Done."}]
    result = scripted(total, turns, prompt="the test is wrong: change test_total to expect 5")
    assert result.code == 0, result.err
    assert total.committed() == ["test_total.py"]


RENAMED = TEST_TOTAL.replace("import total", "import sum_of").replace("total([", "sum_of([")


def test_a_new_test_and_a_renamed_function_weaken_nothing(total: Repo) -> None:
    result = rename_function(total, RENAMED + "\n\ndef test_two():\n    assert sum_of([2]) == 1\n")
    assert result.code == 1, "one of the tests fails as before"
    assert "weaken" not in result.out + result.err


def test_a_test_that_is_gone_is_weakened(total: Repo) -> None:
    gone = RENAMED.replace("def test_total():\n    assert sum_of([1, 2, 3]) == 6\n\n\n", "")
    result = rename_function(total, gone)
    assert result.code == 13, result.err
    assert "the test 'test_total' is gone" in result.out


def rename_function(repo: Repo, test: str) -> Result:
    """Run a turn in which a model renames `total` to `sum_of` and writes this test file."""
    turns = [
        {"calls": [call("read", path="total.py"), call("read", path="test_total.py")]},
        {"calls": [call("write", path="total.py", content=TOTAL.replace("total", "sum_of"))]},
        {"calls": [call("write", path="test_total.py", content=test)]},
        {"text": "Renamed."},
        *[{"text": "Renamed, really."}] * 3,
    ]
    return scripted(repo, turns, prompt="rename total to sum_of")


@pytest.mark.parametrize("output", ["text", "json"])
def test_mere_talk_does_not_make_failing_tests_pass(total: Repo, output: str) -> None:
    result = scripted(total, [{"text": "Checks that all the tests pass."}], "--output", output)
    assert result.code == 1, result.err
    assert untouched(total)
    if output == "json":
        (end,) = result.events
        assert (end["outcome"], end["verification"]) == ("tests-fail", "failed: 1 failed, 1 passed")


def test_talk_of_tests_that_pass_is_done(total: Repo) -> None:
    total.write("total.py", TOTAL.replace("sum(prices) - 1", "sum(prices) - (len(prices) == 1)"))
    total.commit_all("Mend")
    result = scripted(total, [{"text": "They pass already."}])
    assert result.code == 0, result.err
    assert "checked: 2 passed" in result.err


def test_a_question_about_tests_runs_none(total: Repo) -> None:
    result = scripted(total, [{"text": "It sums."}], prompt="what does total do?")
    assert result.code == 0, result.err
    assert "tests fail" not in result.err


def test_where_there_are_no_tests_a_claim_is_not_checked(tmp_path: Path) -> None:
    repo = project(tmp_path / "bare", total=TOTAL)
    result = scripted(repo, [{"text": "They pass."}])
    assert result.code == 10, result.err
