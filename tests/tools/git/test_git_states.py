"""States that `git status` announces are known before a commit, an undo and an attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.events import Prompt, SnapshotEvent
from agent.session.undo import Timeline, redo_last_undo, undo_last_turn
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.repo import Repo, agent_writes
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.git.commits.session_commit import CommitResult, commit_session
from tools.git.git_process import Git
from tools.git.worktrees import commit_work_tree, temporary_worktree

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    for path in ("a.py", "in/b.py", "out/c.py"):
        made.write(path, "".join(f"line {number}\n" for number in range(12)))
    made.commit_all("first")
    return made


def make(at: Workspace) -> CommitResult:
    return asyncio.run(commit_session(at, "Fix it"))


def refusal(at: Workspace) -> str:
    with pytest.raises(ToolFailure) as failure:
        make(at)
    return str(failure.value)


def _diverge(repo: Repo) -> None:
    repo.git("switch", "-qc", "other")
    for text in ("theirs\n", "theirs again\n"):
        repo.write("in/b.py", text)
        repo.commit_all(text.strip())
    repo.git("switch", "-q", "main")
    repo.write("in/b.py", "mine\n")
    repo.commit_all("mine")


def _merge(repo: Repo) -> None:
    _diverge(repo)
    repo.git("merge", "-q", "other", check=False)


def _rebase(repo: Repo) -> None:
    _diverge(repo)
    repo.git("rebase", "-q", "other", check=False)


def _cherry_pick(repo: Repo) -> None:
    _diverge(repo)
    repo.git("cherry-pick", "other", check=False)


def _cherry_pick_several(repo: Repo) -> None:
    """The first of two is resolved by a commit, so that only the list of the others says what is in progress."""
    _diverge(repo)
    repo.git("cherry-pick", "other~1", "other", check=False)
    repo.write("in/b.py", "solved\n")
    repo.git("commit", "-qam", "solved")


def _revert(repo: Repo) -> None:
    _diverge(repo)
    repo.git("revert", "--no-edit", "HEAD~1", check=False)
    repo.git("revert", "--no-commit", "HEAD", check=False)


def _am(repo: Repo) -> None:
    _diverge(repo)
    repo.git("format-patch", "-q", "-1", "-o", str(repo.root.parent / "mail"), "other")
    repo.git("am", "-q", *map(str, (repo.root.parent / "mail").iterdir()), check=False)


def _bisect(repo: Repo) -> None:
    _diverge(repo)
    repo.git("bisect", "start", "HEAD", "HEAD~1")


STATES = {
    "a merge": _merge,
    "a rebase": _rebase,
    "a cherry-pick": _cherry_pick,
    "a cherry-pick or revert of several commits": _cherry_pick_several,
    "a revert": _revert,
    "a rebase or git am": _am,
    "a bisect": _bisect,
}


@pytest.mark.parametrize("state", STATES)
def test_in_the_middle_of_an_operation_nothing_is_committed(repo: Repo, state: str) -> None:
    STATES[state](repo)
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    head, index = repo.head(), repo.index()
    assert f"{state} is in progress" in refusal(at)
    assert (repo.head(), repo.index(), repo.read("a.py")) == (head, index, "agent\n")


def take_turn(repo: Repo, tmp_path: Path) -> tuple[Snapshots, Timeline]:
    """One turn of a session that changed the first line of two files."""
    snapshots = Snapshots(repo.root, tmp_path / "store")
    before = snapshots.take()
    for path in ("a.py", "in/b.py"):
        repo.write(path, repo.read(path).replace("line 0\n", "agent\n"))
    events = [
        Prompt(text="go"),
        SnapshotEvent(tree=before, when="before"),
        SnapshotEvent(tree=snapshots.take(), when="after"),
    ]
    return snapshots, Timeline.from_events(events)


def test_an_undo_in_the_middle_of_an_operation_merges_nothing(repo: Repo, tmp_path: Path) -> None:
    snapshots, timeline = take_turn(repo, tmp_path)
    repo.write("in/b.py", repo.read("in/b.py").replace("line 9\n", "of another commit\n"))
    repo.git("bisect", "start")
    done = undo_last_turn(snapshots, timeline)
    assert done.paths == ("a.py",)
    assert "a bisect is in progress" in done.clashes["in/b.py"]
    assert "agent\n" in repo.read("in/b.py")
    repo.git("bisect", "reset")
    assert undo_last_turn(snapshots, timeline).paths == ("in/b.py",)
    assert repo.read("in/b.py").startswith("line 0\n")
    assert redo_last_undo(snapshots, timeline).steps == ()


@pytest.mark.parametrize(("option", "mark"), [("--skip-worktree", "S"), ("--assume-unchanged", "h")])
def test_a_file_that_the_user_marked_is_left_out_and_keeps_its_mark(
    repo: Repo, option: str, mark: str
) -> None:
    repo.write("in/b.py", repo.read("in/b.py") + "only here\n")
    repo.git("update-index", option, "in/b.py")
    at = repo.workspace()
    agent_writes(at, "in/b.py", repo.read("in/b.py").replace("line 0\n", "agent\n"))
    agent_writes(at, "a.py", "agent\n")
    made = make(at)
    assert (repo.committed(), list(made.left_out)) == (["a.py"], ["in/b.py"])
    assert f"{mark} in/b.py\n" in repo.git("ls-files", "-v")
    assert repo.git("status", "--porcelain") == ""


def test_a_file_in_conflict_is_left_out(repo: Repo) -> None:
    repo.write("in/b.py", "stashed\n")
    repo.git("stash", "-q")
    repo.write("in/b.py", "committed\n")
    repo.commit_all()
    repo.git("stash", "pop", check=False)
    at = repo.workspace()
    agent_writes(at, "in/b.py", "solved\n")
    agent_writes(at, "a.py", "agent\n")
    made = make(at)
    assert "in conflict" in made.left_out["in/b.py"]
    assert repo.committed() == ["a.py"]


def test_a_sparse_checkout_stays_as_it_is(repo: Repo) -> None:
    repo.git("sparse-checkout", "set", "in")
    at = repo.workspace()
    agent_writes(at, "in/b.py", "agent\n")
    make(at)
    assert repo.committed() == ["in/b.py"]
    assert "S out/c.py\n" in repo.git("ls-files", "-v")
    assert not (repo.root / "out").exists()
    assert repo.git("status", "--porcelain") == ""


def test_a_commit_on_no_branch_and_one_of_a_branch_checked_out_twice_say_so(repo: Repo) -> None:
    repo.git("switch", "-q", "--detach")
    at = repo.workspace()
    agent_writes(at, "a.py", "agent\n")
    assert "on no branch" in " ".join(make(at).notes)
    repo.git("switch", "-q", "main")
    beside = repo.root.parent / "beside"
    repo.git("worktree", "add", "-q", "--force", str(beside), "main")
    agent_writes(at, "a.py", "agent again\n")
    assert str(beside) in " ".join(make(at).notes)


@pytest.mark.parametrize("begin", [_rebase, _bisect])
def test_a_branch_that_another_worktree_rebases_or_bisects_is_left_alone(
    repo: Repo, begin: Callable[[Repo], None]
) -> None:
    begin(repo)
    beside = Repo(repo.root.parent / "beside", init=False)
    repo.git("worktree", "add", "-q", "--detach", str(beside.root), "main")
    beside.git("symbolic-ref", "HEAD", "refs/heads/main")
    beside.git("reset", "-q", "--hard")
    at = beside.workspace()
    agent_writes(at, "a.py", "agent\n")
    assert "is being rebased or bisected" in refusal(at)


def test_an_attempt_begins_with_the_files_as_they_are(repo: Repo, tmp_path: Path) -> None:
    """Marked ones, those with an intent to add, and new ones beside a sparse checkout."""
    repo.git("sparse-checkout", "set", "in")
    repo.git("sparse-checkout", "reapply")
    repo.write("a.py", "only here\n")
    repo.git("update-index", "--assume-unchanged", "a.py")
    repo.write("in/new.py", "new\n")
    repo.git("add", "--intent-to-add", "in/new.py")
    repo.write("out/new.py", "beside\n")
    index = repo.index()
    git = Git(repo.root, alone=True)
    start = commit_work_tree(git)
    assert [repo.show(path, start) for path in ("a.py", "in/new.py", "out/new.py")] == [
        "only here\n", "new\n", "beside\n",
    ]  # fmt: skip
    assert repo.show("out/c.py", start).startswith("line 0")
    assert repo.index() == index
    with temporary_worktree(git, start, tmp_path / "trees") as tree:
        (tree.folder / "out").mkdir(exist_ok=True)
        (tree.folder / "out/made.py").write_text("made\n")
        assert b"out/made.py" in tree.build_patch()
        assert b"out/c.py" not in tree.build_patch()


def test_the_users_worktree_on_an_absent_disk_is_not_forgotten(repo: Repo, tmp_path: Path) -> None:
    beside = repo.root.parent / "beside"
    repo.git("worktree", "add", "-q", "--detach", str(beside))
    beside.rename(tmp_path / "unmounted")
    with temporary_worktree(Git(repo.root, alone=True), "HEAD", tmp_path / "trees"):
        pass
    assert str(beside) in repo.git("worktree", "list")
    (tmp_path / "unmounted").rename(beside)
    assert Repo(beside, init=False).git("status", "--porcelain") == ""
