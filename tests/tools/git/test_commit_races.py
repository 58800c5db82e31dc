"""Somebody else commits, stages or switches branches while a session commits: nothing of either is reverted."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support.repo import Repo, agent_writes
from tests.support.second_committer import WAYS, SecondCommitter, assert_nothing_reverted, commit_often
from tests.support.stress import count_cases
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.git.broker import Broker
from tools.git.commits import session_commit
from tools.git.commits.session_commit import CommitResult, commit_session
from tools.git.index_lock import IndexLock

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "a\n")
    made.write("b.py", "b\n")
    made.commit_all("first")
    return made


def make(at: Workspace, message: str = "Fix it") -> CommitResult:
    return asyncio.run(commit_session(at, message))


@pytest.mark.parametrize("way", WAYS)
def test_a_second_committer_in_a_loop_loses_nothing(repo: Repo, way: str) -> None:
    pause = (
        1.0 if way == "plumbing" else 0.15
    )  # it respects no lock of the index, so that only time lets us through
    with SecondCommitter(repo, WAYS[way], pause).running() as other:
        made = commit_often(repo, "a.py", count_cases(24))
    assert other.made
    assert_nothing_reverted(repo, {"a.py": made}, other.made)


def test_two_sessions_at_once_lose_nothing(repo: Repo) -> None:
    own: dict[str, list[str]] = {}

    def work(path: str) -> None:
        own[path] = commit_often(repo, path, count_cases(24))

    threads = [threading.Thread(target=work, args=(path,)) for path in ("a.py", "b.py")]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(own) == ["a.py", "b.py"]
    assert_nothing_reverted(repo, own, [])
    assert len({commit for commits in own.values() for commit in commits}) == 2 * count_cases(24)
    assert repo.git("status", "--porcelain") == ""


def test_a_commit_during_the_hooks_is_kept_and_the_hooks_run_again(repo: Repo) -> None:
    repo.hook(
        "pre-commit",
        "echo ran >> .git/ran\n"
        'test -e .git/done && exit 0; touch .git/done; export GIT_INDEX_FILE="$PWD/.git/index"\n'
        "echo theirs > c.py; git add c.py; git -c core.hooksPath=/dev/null commit -qm theirs",
    )
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    made = make(at)
    assert repo.committed(made.sha) == ["a.py"]
    assert repo.git("log", "--format=%s").split("\n")[:3] == ["Fix it", "theirs", "first"]
    assert repo.read(".git/ran") == "ran\nran\n"
    assert repo.git("status", "--porcelain") == ""


def test_what_the_user_stages_during_the_hooks_stays_staged(repo: Repo) -> None:
    repo.hook("pre-commit", 'GIT_INDEX_FILE="$PWD/.git/index" git add b.py')
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    repo.write("b.py", "user\n")
    assert repo.committed(make(at).sha) == ["a.py"]
    assert repo.git("status", "--porcelain") == "M  b.py\n"


def test_a_switch_to_another_branch_during_the_hooks_takes_the_commit_along(repo: Repo) -> None:
    repo.hook("pre-commit", "git update-ref refs/heads/other HEAD; git symbolic-ref HEAD refs/heads/other")
    at = repo.workspace()
    first = repo.head()
    agent_writes(at, "a.py", "agent\n")
    made = make(at)
    assert (repo.git("rev-parse", "other").strip(), repo.git("rev-parse", "main").strip()) == (
        made.sha,
        first,
    )
    assert repo.git("status", "--porcelain") == ""


def test_one_who_always_commits_first_is_reported(repo: Repo) -> None:
    repo.hook(
        "pre-commit",
        "git update-ref HEAD $(git -c user.name=u -c user.email=u@e commit-tree -p HEAD -m theirs 'HEAD^{tree}')",
    )
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    with pytest.raises(ToolFailure, match="others move this branch"):
        make(at)
    assert repo.show("a.py") == "a\n"
    assert repo.git("status", "--porcelain") == " M a.py\n"
    assert not (repo.root / ".git/index.lock").exists()


def test_a_reference_that_cannot_be_moved_leaves_the_index_as_it_was(repo: Repo) -> None:
    repo.hook("reference-transaction", 'test "$1" != prepared || { echo no; exit 1; }')
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    head, index = repo.head(), (repo.root / ".git/index").read_bytes()
    with pytest.raises(ToolFailure, match="no"):
        make(at)
    assert (repo.head(), (repo.root / ".git/index").read_bytes()) == (head, index)


def test_an_index_that_a_failed_commit_wrote_back_is_updated_again(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = repo.workspace()
    old = (repo.root / ".git/index").read_bytes()
    build = session_commit._build_result

    def build_late(*arguments: object) -> CommitResult:
        (repo.root / ".git/index").write_bytes(old)  # as a `git commit` does that had read it before
        return build(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(session_commit, "_build_result", build_late)
    agent_writes(at, "a.py", "agent\n")
    make(at)
    assert repo.git("status", "--porcelain") == ""


def test_the_lock_of_a_killed_session_is_removed_and_that_of_git_is_not(repo: Repo) -> None:
    lock = repo.root / ".git/index.lock"
    code = (
        "import sys, time, pathlib; from tools.git.broker import Broker; from tools.git.index_lock import IndexLock\n"
        "IndexLock(Broker(pathlib.Path(sys.argv[1]))).__enter__(); print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        (sys.executable, "-c", code, str(repo.root)), stdout=subprocess.PIPE, cwd=Path.cwd()
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    with pytest.raises(ToolFailure, match="another git command is running"):
        make(at)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    assert lock.exists()
    make(at)
    lock.write_bytes(b"")
    agent_writes(at, "a.py", "agent again\n")
    with pytest.raises(ToolFailure, match="another git command is running"):
        make(at)
    assert lock.exists()


def test_a_lock_that_is_held_briefly_is_waited_for(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")

    def hold() -> None:
        with IndexLock(Broker(repo.root)):
            held.set()
            time.sleep(0.3)

    held = threading.Event()
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    made = make(at)
    thread.join()
    assert repo.head() == made.sha
