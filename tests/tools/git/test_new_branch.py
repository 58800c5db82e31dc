"""A branch for the agent's commits: new, at the commit that was read, beside others who commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repo import Repo
from tests.support.second_committer import WAYS, SecondCommitter
from tools.core.action import ToolFailure
from tools.git.broker import Broker
from tools.git.git_process import Git, GitFailed
from tools.git.new_branch import create_branch, switch_to_new_branch

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "a\n")
    made.commit_all("first")
    return made


def test_a_branch_that_is_there_is_never_overwritten(repo: Repo) -> None:
    first = repo.head()
    repo.git("branch", "patchwright/fix")
    repo.git("branch", "patchwright/fix-2")
    second = repo.commit_all("second")
    assert create_branch(Git(repo.root, alone=True).run, "patchwright/fix", second) == "patchwright/fix-3"
    assert repo.git("rev-parse", "patchwright/fix", "patchwright/fix-2", "patchwright/fix-3").split() == [
        first,
        first,
        second,
    ]


def test_a_name_that_cannot_be_a_branch_is_an_error(repo: Repo) -> None:
    repo.git("branch", "patchwright")  # a file where the folder of the branches would be
    with pytest.raises(GitFailed):
        create_branch(Git(repo.root, alone=True).run, "patchwright/fix", repo.head())
    with pytest.raises(ToolFailure):
        switch_to_new_branch(Broker(repo.root), "patchwright/fix")
    assert repo.git("branch", "--show-current") == "main\n"


def test_a_switch_before_the_first_commit(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "new")
    switch_to_new_branch(Broker(repo.root), "patchwright/begin")
    assert repo.git("branch", "--show-current") == "patchwright/begin\n"


def test_a_switch_while_somebody_commits_leaves_nothing_staged(repo: Repo) -> None:
    with SecondCommitter(repo, WAYS["one path"]).running() as other:
        for number in range(4):
            for _ in range(20):
                try:
                    switch_to_new_branch(Broker(repo.root), f"patchwright/{number}")
                    break
                except ToolFailure:
                    continue
    assert repo.git("branch", "--show-current") == "patchwright/3\n"
    staged = repo.git("diff", "--cached", "--name-only", "--diff-filter=D")
    assert staged == ""
    every = repo.git("log", "--all", "--format=%s")
    assert set(other.made) <= set(every.split())
