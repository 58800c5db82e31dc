"""A commit or a run of tests that was asked for, and what the model says of it: the end is what happened."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

LOOK = [call("git_status")]
COMMIT_OWN = [
    {"calls": [call("edit", path="b.py", old="B = 1", new="B = 2")]},
    {"calls": [call("run_tests")]},
    {"calls": [call("git_commit", message="Set B to 2")]},
]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    found = Repo(tmp_path / "repo")
    found.write("a.py", "def f():\n    return 1\n")
    found.write("b.py", "B = 1\n")
    found.write("test_a.py", "from a import f\n\n\ndef test_f():\n    assert f() == 1\n")
    found.write(".gitignore", "__pycache__\n.pytest_cache\ngo\n")
    found.commit_all("Start")
    return found


@pytest.fixture
def dirty(repo: Repo) -> Repo:
    """A repository with uncommitted work of the user."""
    repo.write("a.py", "def f():\n    return 1  # mine\n")
    return repo


def play(repo: Repo, prompt: str, *turns: dict[str, Any]) -> tuple[Result, dict[str, Any]]:
    result = run(
        "run",
        prompt,
        "--model",
        script(repo.root.parent, list(turns)),
        "--output",
        "json",
        cwd=repo.root,
        timeout=120,
    )
    return result, result.events[-1]


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("commit my changes", "I committed your changes."),
        ("Please commit this for me", "Done."),
        ("Committe meine Änderungen", "Erledigt."),
        ("commitez mes changements", "C'est fait."),
        ("haz commit de mis cambios", "There is nothing to commit."),
        ("提交我的修改", "已提交。"),
        ("変更をコミットして", "コミットしました。"),
    ],
)
def test_a_commit_of_own_work_that_is_only_talked_of_is_not_achieved(
    dirty: Repo, prompt: str, answer: str
) -> None:
    result, end = play(dirty, prompt, {"calls": LOOK}, {"text": answer})
    assert (result.code, end["reason"]) == (13, "no commit was made"), result.err
    assert "patchwright commit" in end["summary"]
    assert dirty.git("status", "--porcelain") == " M a.py\n"


def test_a_new_file_of_the_user_is_to_be_committed_as_well(repo: Repo) -> None:
    repo.write("new.py", "N = 1\n")
    result, end = play(repo, "commit my changes", {"text": "Done."})
    assert (result.code, end["reason"]) == (13, "no commit was made")


def test_a_commit_that_the_model_made_is_done(dirty: Repo) -> None:
    result, end = play(dirty, "set B to 2 in b.py and commit", *COMMIT_OWN, {"text": "Committed."})
    assert (result.code, end["commit"]) == (0, dirty.head()), result.err


def test_a_commit_by_somebody_else_during_the_turn_counts(dirty: Repo) -> None:
    commit = f"cd {dirty.root}; until [ -e go ]; do sleep 0.1; done; git commit -qam Mine"
    wait = "touch go; until git log -1 --format=%s | grep -q Mine; do sleep 0.1; done"
    with subprocess.Popen(["sh", "-c", commit], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        result, end = play(
            dirty, "commit my changes", {"calls": [call("shell", command=wait)]}, {"text": "Committed."}
        )
    assert dirty.git("log", "-1", "--format=%s") == "Mine\n"
    assert result.code == 0, end


@pytest.mark.parametrize(
    "answer", ["There is nothing to commit.", "The working tree is clean.", "Rien à committer."]
)
def test_where_there_is_nothing_to_commit_nothing_is_missing(repo: Repo, answer: str) -> None:
    result, _ = play(repo, "commit my changes", {"calls": LOOK}, {"text": answer})
    assert result.code == 0, result.err


def test_a_commit_of_nothing_that_is_claimed_is_not_achieved(repo: Repo) -> None:
    result, end = play(repo, "commit my changes", {"text": "I have committed all your changes."})
    assert (result.code, end["reason"]) == (13, "no commit was made")


@pytest.mark.parametrize(
    ("prompt", "turns"),
    [
        ("run the tests", [{"text": "All tests pass."}]),
        ("run the test suite and tell me what fails", [{"text": "test_f fails."}]),
        (
            "Führe die Tests aus",
            [{"calls": [call("shell", command="cat test_a.py")]}, {"text": "Alle Tests laufen."}],
        ),
        ("运行测试", [{"calls": [call("read", path="test_a.py")]}, {"text": "所有测试都通过了。"}]),
        ("run pytest", [{"calls": [call("shell", command="no-such-command")]}, {"text": "1 passed"}]),
        (
            "what does f do?",
            [{"calls": [call("read", path="a.py")]}, {"text": "It returns 1. I ran the tests."}],
        ),
        (
            "add a function f",
            [{"calls": [call("read", path="a.py")]}, {"text": "It is there already. All tests pass."}],
        ),
    ],
)
def test_a_run_of_tests_that_did_not_happen_is_not_achieved(
    repo: Repo, prompt: str, turns: list[Any]
) -> None:
    result, end = play(repo, prompt, *turns)
    assert (result.code, end["reason"]) == (13, "no tests were run"), result.out


@pytest.mark.parametrize(
    ("prompt", "turns"),
    [
        ("run the tests", [{"calls": [call("run_tests")]}, {"text": "All tests pass."}]),
        (
            "run the tests",
            [{"calls": [call("shell", command="python3 -m pytest -q")]}, {"text": "All tests pass."}],
        ),
        ("what does ci.yml check?", [{"text": "That all tests pass."}]),
        ("how do I run the tests?", [{"text": "With pytest. If all tests pass, it prints a summary."}]),
    ],
)
def test_a_run_that_happened_or_was_not_spoken_of_is_done(repo: Repo, prompt: str, turns: list[Any]) -> None:
    result, _ = play(repo, prompt, *turns)
    assert result.code == 0, result.err
