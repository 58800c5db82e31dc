"""Status, diff, and the broker: what the model is told of a repository, and what git may not do meanwhile."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.errors import Fault, UserError
from tests.support.repo import Repo, agent_writes
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool
from tools.core.workspace import Workspace
from tools.git.broker import Broker
from tools.git.git_tools import find_root, git_commit, git_diff, git_status, read_branch, read_head_commit


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "one\ntwo\n")
    made.write("b.py", "b\n")
    made.commit_all("first")
    return made


def call(tool: Tool, at: Workspace, **arguments: Any) -> Observation:
    async def run() -> Observation:
        return await tool.run(**arguments, at=at)

    return asyncio.run(run())


@pytest.mark.slow
def test_status_names_each_group_and_the_files_of_the_session(repo: Repo) -> None:
    repo.write("b.py", "staged\n")
    repo.git("add", "b.py")
    repo.write("notes.txt", "untracked\n")
    at = repo.workspace()
    agent_writes(at, "a.py", "changed\n")
    found = call(git_status, at)
    assert found.text == (
        "On branch main\nStaged (1):\n  M b.py\nNot staged (1):\n  M a.py (changed by you)\n"
        "Untracked (1):\n  ? notes.txt"
    )
    assert found.data["staged"] == ["b.py"]
    assert found.data["changed_by_session"] == ["a.py"]


def test_status_tells_the_distance_to_the_upstream(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone", init=False)
    clone.write("c.py", "c\n")
    clone.commit_all()
    found = call(git_status, clone.workspace())
    assert found.text.split("\n")[0] == "On branch main, 1 ahead of and 0 behind origin/main"
    assert (found.data["ahead"], found.data["behind"]) == (1, 0)


@pytest.mark.slow
def test_status_of_unborn_and_detached_heads_and_of_conflicts(repo: Repo, tmp_path: Path) -> None:
    assert "no commits yet" in call(git_status, Repo(tmp_path / "new").workspace()).text
    repo.git("checkout", "-q", "-b", "side")
    repo.write("a.py", "side\n")
    repo.commit_all()
    repo.git("checkout", "-q", "main")
    repo.write("a.py", "main\n")
    repo.commit_all()
    repo.git("merge", "side", check=False)
    assert "In conflict (1):\n  U a.py" in call(git_status, repo.workspace()).text
    repo.git("merge", "--abort")
    repo.git("checkout", "-q", "--detach")
    assert call(git_status, repo.workspace()).text.startswith(f"HEAD detached at {repo.head()[:10]}")


def test_many_names_are_counted_and_cut(repo: Repo) -> None:
    for number in range(60):
        repo.write(f"new/{number:02}.txt", "x\n")
    text = call(git_status, repo.workspace()).text
    assert "Untracked (60):" in text
    assert "… and 20 more" in text
    assert "new/45.txt" not in text


@pytest.mark.slow
def test_diff_shows_edits_and_the_new_files_of_the_session_alone(repo: Repo) -> None:
    repo.write("untracked.txt", "the user's\n")
    index = repo.index()
    at = repo.workspace()
    agent_writes(at, "a.py", "one\n2\n")
    agent_writes(at, "pkg/new.py", "fresh\n")
    found = call(git_diff, at)
    assert "-two\n+2\n" in found.text
    assert "+fresh" in found.text
    assert "untracked.txt" not in found.text
    assert found.data["files"] == ["a.py", "pkg/new.py"]
    assert repo.index() == index
    assert call(git_diff, at, path="pkg").data["files"] == ["pkg/new.py"]
    assert call(git_diff, at, staged=True).text == "no differences"


def test_a_long_diff_is_cut_and_kept_whole(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, "a.py", "".join(f"number {number}\n" for number in range(3000)))
    found = call(git_diff, at)
    assert len(found.text) < 17_000
    assert found.text.startswith("Diff of 1 file: a.py\n")
    kept = at.artifacts.find_file(found.ref)
    assert kept is not None
    assert "+number 2999\n" in kept.read_text()
    first_hidden = kept.read_text().split("\n")[int(found.text.rpartition("start=")[2].split(")")[0]) - 1]
    assert first_hidden not in found.text
    assert found.text.split("\n")[-2] in kept.read_text()


def test_outside_a_repository_the_diff_is_of_the_session(tmp_path: Path) -> None:
    place = Repo(tmp_path / "plain", init=False)
    place.write("a.py", "old\n")
    at = place.workspace()
    agent_writes(at, "a.py", "new\n")
    assert "-old\n+new\n" in call(git_diff, at).text
    with pytest.raises(UserError) as error:
        call(git_status, at)
    assert error.value.fault is Fault.NOT_A_REPOSITORY
    assert "git init" in error.value.hint


@pytest.mark.slow
def test_names_that_look_like_options_or_patterns_are_only_names(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, "--output=owned", "x\n")
    agent_writes(at, ":(top)*.py", "y\n")
    assert call(git_diff, at, path="--output=owned").data["files"] == ["--output=owned"]
    assert call(git_diff, at, path=":(top)*.py").data["files"] == [":(top)*.py"]
    assert not (repo.root / "owned").exists()
    call(git_commit, at, message="Odd names")
    assert sorted(repo.committed()) == ["--output=owned", ":(top)*.py"]


@pytest.mark.slow
def test_nothing_that_the_repository_configures_is_started(repo: Repo) -> None:
    trap = repo.write("trap.sh", '#!/bin/sh\ntouch "$(dirname "$0")/owned"\ncat "$1" 2>/dev/null\n')
    trap.chmod(0o755)
    repo.write(".gitattributes", "*.py diff=trap\n")
    repo.commit_all()
    settings = ("core.fsmonitor", "core.pager", "diff.external", "diff.trap.textconv", "diff.trap.command")
    for setting in settings:
        repo.git("config", setting, str(trap))
    repo.git("config", "pager.diff", "true")
    for name in ("post-index-change", "reference-transaction"):
        repo.hook(name, f"{trap}")
    at = repo.workspace()
    agent_writes(at, "a.py", "changed\n")
    assert "changed" in call(git_diff, at).text
    assert "M a.py" in call(git_status, at).text
    assert not (repo.root / "owned").exists()


def test_a_read_writes_nothing_into_the_repository(repo: Repo) -> None:
    at = repo.workspace()
    agent_writes(at, "a.py", "changed\n")
    agent_writes(at, "new.py", "new\n")

    def state() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (repo.root / ".git").rglob("*") if path.is_file()}

    before = state()
    call(git_status, at)
    call(git_diff, at)
    assert state() == before


@pytest.mark.slow
def test_a_repository_of_another_user_is_explained(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    at = repo.workspace()
    broker = Broker(repo.root)
    script = repo.root.parent / "bin" / "git"
    script.parent.mkdir()
    # git's own switch for its tests: as if the folder belonged to someone else.
    script.write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {_real_git()} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    with pytest.raises(ToolFailure, match=r"safe\.directory"):
        broker.run("status")
    with pytest.raises(ToolFailure, match="belongs to another user"):
        call(git_status, at)


def _real_git() -> str:
    import shutil

    return shutil.which("git") or "git"


def test_without_git_one_clear_line_says_so(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repo.root))
    with pytest.raises(UserError) as error:
        call(git_status, repo.workspace())
    assert error.value.fault is Fault.CONFIGURATION
    assert "git was not found" in error.value.message


def test_root_branch_and_head_are_read_without_git(repo: Repo, tmp_path: Path) -> None:
    (repo.root / "deep/er").mkdir(parents=True)
    assert find_root(repo.root / "deep/er") == repo.root
    assert (read_head_commit(repo.root), read_branch(repo.root)) == (repo.head(), "main")
    repo.git("pack-refs", "--all")
    assert read_head_commit(repo.root) == repo.head()
    repo.git("worktree", "add", "-q", "-b", "side/branch", str(tmp_path / "tree"))
    tree = Repo(tmp_path / "tree", init=False)
    tree.write("x", "x")
    tree.commit_all()
    assert find_root(tree.root) == tree.root
    assert (read_head_commit(tree.root), read_branch(tree.root)) == (tree.head(), "side/branch")
    tree.git("checkout", "-q", "--detach")
    assert (read_head_commit(tree.root), read_branch(tree.root)) == (tree.head(), "")
    assert read_head_commit(Repo(tmp_path / "new").root) == ""
    assert find_root(tmp_path) is None


@pytest.mark.slow
def test_importing_the_tools_does_not_import_gitpython() -> None:
    code = "import sys, tools.git.git_tools; sys.exit('git' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=False).returncode
        == 0
    )
