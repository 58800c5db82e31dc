"""Work trees aside: made quickly, removed whatever happens, and their work brought back as one patch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import CHECKOUT
from tests.support.repo import Repo
from tools.git.git_process import Git, GitFailed
from tools.git.worktrees import apply_patch, temporary_worktree


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "work")
    repo.write(".gitignore", ".venv\n")
    repo.write("a.txt", "one\ntwo\nthree\nfour\nfive\n")
    repo.write(".venv/bin/python", "")
    repo.commit_all()
    return repo


@pytest.mark.slow
def test_what_is_done_there_comes_back_whole_beside_the_users_own_changes(repo: Repo, tmp_path: Path) -> None:
    repo.write("a.txt", "ONE, a person's\ntwo\nthree\nfour\nfive\n")
    before = repo.index()
    git = Git.from_folder(repo.root)
    with temporary_worktree(git, "HEAD", tmp_path / "trees") as tree:
        assert (tree.folder / "a.txt").read_text().startswith("one\n"), "it holds the commit"
        assert (tree.folder / ".venv/bin/python").is_file()
        (tree.folder / "a.txt").write_text("one\ntwo\nthree\nfour\nFIVE\n")
        (tree.folder / "new bin").write_bytes(b"\0\1")
        patch = tree.build_patch()
    apply_patch(git, patch)
    assert repo.read("a.txt") == "ONE, a person's\ntwo\nthree\nfour\nFIVE\n"
    assert (repo.root / "new bin").read_bytes() == b"\0\1"
    assert (repo.root / ".venv/bin/python").is_file()
    assert repo.index() == before
    repo.write("a.txt", "something else\n")
    with pytest.raises(GitFailed):
        apply_patch(git, patch)
    assert repo.read("a.txt") == "something else\n"


@pytest.mark.slow
def test_nothing_is_left_after_a_failure_or_a_kill(repo: Repo, tmp_path: Path) -> None:
    git = Git.from_folder(repo.root)
    with pytest.raises(ZeroDivisionError), temporary_worktree(git, "HEAD", tmp_path / "trees"):
        raise ZeroDivisionError
    assert repo.git("worktree", "list").count("\n") == 1
    assert list((tmp_path / "trees").iterdir()) == []
    lost = tmp_path / "trees" / "patchwright-killed" / "work"
    repo.git("worktree", "add", "-q", "--detach", str(lost))
    with (
        temporary_worktree(git, "HEAD", tmp_path / "trees") as one,
        temporary_worktree(git, "HEAD", tmp_path / "trees") as other,
    ):
        assert not lost.exists()
        assert (one.folder / "a.txt").exists(), "one that is in use stays"
        assert (other.folder / "a.txt").exists()
        assert repo.git("worktree", "list").count("\n") == 3, "the lost one is forgotten"


_HELD = """
import sys, time
from pathlib import Path
from tools.git.git_process import Git
from tools.git.worktrees import temporary_worktree
with temporary_worktree(Git(Path(sys.argv[1])), "HEAD", Path(sys.argv[2])) as tree:
    (tree.folder / "half").write_text("work that is lost")
    print(tree.folder, flush=True)
    time.sleep(300)
"""


@pytest.mark.slow
def test_what_a_killed_process_left_is_removed_by_the_next_and_not_while_it_lives(
    repo: Repo, tmp_path: Path
) -> None:
    git, trees = Git.from_folder(repo.root), tmp_path / "trees"
    command = [sys.executable, "-c", _HELD, str(repo.root), str(trees)]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        held = Path(holder.stdout.readline().strip())
        with temporary_worktree(git, "HEAD", trees):
            assert (held / "half").exists(), "another process works in it"
        holder.kill()
    assert held.is_dir(), "a kill cleans up nothing"
    with temporary_worktree(git, "HEAD", trees) as tree:
        assert not held.exists()
        assert [path.parent for path in trees.glob("*/*")] == [tree.folder.parent]
    assert repo.git("worktree", "list").count("\n") == 1
    assert list(trees.iterdir()) == []
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.slow
def test_a_repository_that_a_command_put_there_is_not_obeyed(repo: Repo, tmp_path: Path) -> None:
    other = Repo(tmp_path / "other")
    other.write("a.txt", "x\n")
    other.commit_all()
    other.git("config", "filter.evil.smudge", f"touch '{tmp_path}/ran'; cat")
    other.write(".git/info/attributes", "* filter=evil\n")
    without = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "instead.of", "GIT_CONFIG_VALUE_0": "this"}
    with temporary_worktree(Git(repo.root, extra=without), "HEAD", tmp_path / "trees") as tree:
        assert tree.git.read_setting("instead.of") == "this", (
            "what its repository does without, it does without"
        )
        (tree.folder / ".git").write_text(f"gitdir: {tmp_path}/other/.git\n")
        (tree.folder / "a.txt").unlink()
        tree.git.run("checkout", "--detach", "--force", "--quiet", other.head(), ok=range(256))
        tree.git.run("checkout", "--detach", "--force", "--quiet", "HEAD")
        assert tree.head == repo.head()
        assert (tree.folder / "a.txt").read_text().startswith("one\n")
    assert not (tmp_path / "ran").exists()
