"""Bisection with a command, in a work tree of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repo import Repo
from tests.tools.workspaces import call, refused
from tools.core.workspace import Workspace
from tools.git.bisect import git_bisect

pytestmark = pytest.mark.timeout(300)
"""Seconds, for many processes one after the other on a machine that may be busy."""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Eleven commits; the eighth breaks the file, the seventh cannot be judged."""
    repo = Repo(tmp_path / "work")
    for number in range(11):
        repo.write("value", f"{'bad' if number >= 7 else 'good'} {number}\n")
        if number in (6, 7):
            repo.write("odd", "x")
        elif (repo.root / "odd").exists():
            (repo.root / "odd").unlink()
        repo.commit_all(f"Commit {number}")
    return repo


def at(repo: Repo) -> Workspace:
    found = repo.workspace()
    found.folders.cache.mkdir(parents=True)
    return found


@pytest.mark.slow
def test_the_first_bad_commit_is_found_and_the_users_work_tree_stays(repo: Repo) -> None:
    repo.write("value", "a person's\n")
    repo.write("new", "a person's\n")
    before = repo.git("status", "--porcelain"), repo.head(), repo.index()
    seen = call(git_bisect, at(repo), command="grep -q good value", good="HEAD~10")
    assert seen.data["commit_found"] == repo.git("rev-parse", "HEAD~3").strip()
    assert "Commit 7" in seen.text
    assert "M\tvalue" in seen.text
    assert (repo.git("status", "--porcelain"), repo.head(), repo.index()) == before
    assert repo.git("worktree", "list").count("\n") == 1


@pytest.mark.slow
def test_commits_that_cannot_be_judged_are_named(repo: Repo) -> None:
    command = "test -e odd && exit 125; grep -q good value"
    seen = call(git_bisect, at(repo), command=command, good="HEAD~10")
    assert seen.data["commit_found"] == repo.git("rev-parse", "HEAD~2").strip()
    assert repo.git("rev-parse", "HEAD~3")[:10] in seen.text.rpartition("or one of")[2]


@pytest.mark.slow
def test_ends_that_are_not_as_said_and_names_that_are_none_are_refused(repo: Repo) -> None:
    here = at(repo)
    assert "which was to be bad" in refused(git_bisect, here, command="true", good="HEAD~3")
    assert "which was to be good" in refused(git_bisect, here, command="false", good="HEAD~3")
    assert "there is no commit 'nope'" in refused(git_bisect, here, command="true", good="nope")
    assert "names no commit" in refused(git_bisect, here, command="true", good="--output=x")
