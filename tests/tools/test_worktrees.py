"""Work trees aside: made quickly, removed whatever happens, and their work brought back as one patch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repo import Repo
from tools.plumbing import Git, GitFailed
from tools.worktrees import bring_back, worktree


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "work")
    repo.write(".gitignore", ".venv\n")
    repo.write("a.txt", "one\ntwo\nthree\nfour\nfive\n")
    repo.write(".venv/bin/python", "")
    repo.commit_all()
    return repo


def test_what_is_done_there_comes_back_whole_beside_the_users_own_changes(repo: Repo, tmp_path: Path) -> None:
    repo.write("a.txt", "ONE, a person's\ntwo\nthree\nfour\nfive\n")
    before = repo.index()
    git = Git.here(repo.root)
    with worktree(git, "HEAD", tmp_path / "trees") as tree:
        assert (tree.folder / "a.txt").read_text().startswith("one\n"), "it holds the commit"
        assert (tree.folder / ".venv/bin/python").is_file()
        (tree.folder / "a.txt").write_text("one\ntwo\nthree\nfour\nFIVE\n")
        (tree.folder / "new bin").write_bytes(b"\0\1")
        patch = tree.patch()
    bring_back(git, patch)
    assert repo.read("a.txt") == "ONE, a person's\ntwo\nthree\nfour\nFIVE\n"
    assert (repo.root / "new bin").read_bytes() == b"\0\1"
    assert (repo.root / ".venv/bin/python").is_file()
    assert repo.index() == before
    repo.write("a.txt", "something else\n")
    with pytest.raises(GitFailed):
        bring_back(git, patch)
    assert repo.read("a.txt") == "something else\n"


def test_nothing_is_left_after_a_failure_or_a_kill(repo: Repo, tmp_path: Path) -> None:
    git = Git.here(repo.root)
    with pytest.raises(ZeroDivisionError), worktree(git, "HEAD", tmp_path / "trees"):
        raise ZeroDivisionError
    assert repo.git("worktree", "list").count("\n") == 1
    assert list((tmp_path / "trees").iterdir()) == []
    lost = tmp_path / "trees" / "patchwright-killed" / "work"
    repo.git("worktree", "add", "-q", "--detach", str(lost))
    (lost / "a.txt").unlink()
    (lost / ".git").unlink()
    with worktree(git, "HEAD", tmp_path / "trees"):
        assert repo.git("worktree", "list").count("\n") == 2, "the lost one is forgotten"
