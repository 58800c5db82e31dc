"""A commit takes in what a command changed, and nothing of the user's that only came into its reach."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.policy.decision import Approval, Decision, Mode, Policy
from sandbox.policy.effects import Effect
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.repo import Repo
from tools.core.action import Action, Observation
from tools.core.gateway import Gateway
from tools.core.registry import Toolbox
from tools.core.workspace import Workspace
from tools.git.commits.session_commit import CommitResult, commit_session
from tools.shell.shell_tool import shell

pytestmark = pytest.mark.slow  # each test starts whole programs or real repositories

LARGE = b"\0" * 10_000_001
"""More than a snapshot keeps."""


class Unheard:
    """A log that nobody reads."""

    def record_action(self, action: Action, effect: Effect) -> None: ...
    def record_decision(self, action: Action, decision: Decision, by: str) -> None: ...
    def record_observation(self, action: Action, observation: Observation, seconds: float) -> None: ...
    def record_snapshot(self, tree: str, when: str) -> None: ...


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "a\n")
    made.write(".gitignore", "secret.txt\n/data/\n")
    made.write("large.db", LARGE)
    made.commit_all()
    return made


@pytest.fixture
def at(repo: Repo) -> Workspace:
    return repo.workspace()


@pytest.fixture
def runs(at: Workspace, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    snapshots = Snapshots(at.root, tmp_path / "store")
    gateway = Gateway(
        toolbox=Toolbox([shell]),
        workspace=at,
        policy=Policy(mode=Mode.FULL, approval=Approval.NEVER),
        recorder=Unheard(),
        snapshots=snapshots,
    )

    def run(command: str) -> None:
        (done,) = asyncio.run(gateway.run([Action(id="1", tool="shell", arguments={"command": command})]))
        assert not done.failed, done.text

    yield run
    snapshots.close()


def make(at: Workspace) -> CommitResult:
    return asyncio.run(commit_session(at, "Change it"))


def test_a_file_that_a_command_stops_ignoring_is_not_committed(
    repo: Repo, at: Workspace, runs: Callable[[str], None]
) -> None:
    repo.write("secret.txt", "key\n")
    repo.write("data/table", "rows\n")
    runs("rm .gitignore; echo new > new.py; echo b > a.py")
    make(at)
    assert repo.committed() == [".gitignore", "a.py", "new.py"]
    assert repo.git("status", "--porcelain") == "?? data/\n?? secret.txt\n"


def test_a_large_file_of_the_users_is_left_out_and_does_not_stop_the_rest(
    repo: Repo, at: Workspace, runs: Callable[[str], None]
) -> None:
    repo.write("mine.log", LARGE)
    runs("echo more >> mine.log; echo more >> large.db; echo b > a.py")
    made = make(at)
    assert repo.committed() == ["a.py"]
    assert sorted(made.left_out) == ["large.db", "mine.log"]
    assert "too large" in made.left_out["mine.log"]
    assert repo.git("status", "--porcelain") == " M large.db\n?? mine.log\n"
