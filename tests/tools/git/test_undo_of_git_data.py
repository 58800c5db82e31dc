"""Undo of git commands after which the user worked on: HEAD, branch and index fit together, nothing is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.cli import Result, call, run, script
from tests.support.confined import needs_confinement
from tests.support.repo import Repo

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.txt", "one\n")
    made.write("b.txt", "one\n")
    made.commit_all("start")
    made.git("switch", "-q", "-c", "side")
    made.write("b.txt", "side\n")
    made.write("side.txt", "side\n")
    made.commit_all("side")
    made.git("switch", "-q", "main")
    needs_confinement(made.root)
    return made


def run_line(repo: Repo, line: str) -> None:
    model = script(repo.root.parent, [{"calls": [call("shell", command=line)]}, {"text": "There you are."}])
    done = run("run", "show me", "--model", model, "--mode", "full", "--no-commit", cwd=repo.root)
    assert done.code == 0, done.out + done.err


def undo(repo: Repo) -> Result:
    return run("undo", cwd=repo.root)


def commit_own(repo: Repo) -> str:
    repo.write("own.txt", "own\n")
    repo.git("add", "own.txt")
    repo.git("commit", "-q", "-m", "own")
    return repo.head()


@pytest.mark.parametrize("line", ["git switch side", "git merge side", "git switch -c topic side"])
def test_a_commit_of_the_user_since_keeps_branch_index_and_files(repo: Repo, line: str) -> None:
    run_line(repo, line)
    branch = repo.git("branch", "--show-current")
    own = commit_own(repo)
    undone = undo(repo)
    assert undone.code == 13
    assert (repo.head(), repo.git("branch", "--show-current")) == (own, branch)
    assert repo.git("status", "--porcelain") == ""
    assert "git's data as before" not in undone.err


def test_an_amended_message_keeps_index_and_files(repo: Repo) -> None:
    run_line(repo, "git merge side")
    repo.git("commit", "-q", "--amend", "-m", "other words")
    own = repo.head()
    assert undo(repo).code == 13
    assert (repo.head(), repo.git("status", "--porcelain")) == (own, "")


def test_a_commit_of_what_was_staged_keeps_the_index(repo: Repo) -> None:
    repo.write("new.txt", "new\n")
    run_line(repo, "git add -A")
    repo.git("commit", "-q", "-m", "own")
    assert undo(repo).code == 13
    assert repo.git("status", "--porcelain") == ""


def test_a_branch_that_was_begun_since_keeps_the_index(repo: Repo) -> None:
    run_line(repo, "git merge side")
    repo.git("switch", "-q", "-c", "mine")
    assert undo(repo).code == 13
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("line", ["git switch side", "git stash", "git reset --hard side"])
def test_a_status_that_renews_the_index_is_no_change(repo: Repo, line: str) -> None:
    repo.write("a.txt", "mine\n")
    run_line(repo, line)
    os.utime(repo.root / "b.txt", (1, 1))
    repo.git("status")
    undone = undo(repo)
    assert undone.code == 0, undone.err
    assert repo.git("branch", "--show-current") == "main\n"
    assert repo.git("status", "--porcelain") == " M a.txt\n"


def test_a_stash_whose_files_were_left_is_kept(repo: Repo) -> None:
    repo.write("a.txt", "mine\n")
    repo.write("b.txt", "mine\n")
    run_line(repo, "git stash")
    repo.write("a.txt", "later\n")
    undone = undo(repo)
    assert undone.code == 13
    assert "the stash: it has the files that were left" in undone.err
    assert "+mine" in repo.git("stash", "show", "-p")
    assert (repo.root / "a.txt").read_text() == "later\n"
