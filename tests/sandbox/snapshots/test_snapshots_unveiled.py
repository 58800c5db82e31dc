"""What comes into sight was made by nobody: no commit takes it in, no undo removes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.repo import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("a.py", "one\n")
    made.commit_all()
    return made


@pytest.fixture
def snapshots(repo: Repo, tmp_path: Path) -> Iterator[Snapshots]:
    made = Snapshots(repo.root, tmp_path / "store")
    yield made
    made.close()


def kinds(snapshots: Snapshots, old: str, new: str) -> dict[str, str]:
    return {change.path: change.kind for change in snapshots.list_changes(old, new)}


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["*.pyc\n", None])
def test_files_that_come_into_sight_were_made_by_nobody_and_undo_leaves_them(
    repo: Repo, snapshots: Snapshots, rules: str | None
) -> None:
    repo.write(".gitignore", "secret.txt\n/data/\n")
    repo.write("pkg/.gitignore", "*.local\n")
    hidden = ("secret.txt", "data/deep/x", "pkg/my.local")
    for path in hidden:
        repo.write(path, "the user's\n")
    first = snapshots.take()
    for place in (".gitignore", "pkg/.gitignore"):
        if rules is None:
            (repo.root / place).unlink()
        else:
            repo.write(place, rules)
    repo.write("new.py", "new\n")
    second = snapshots.take()
    changed = kinds(snapshots, first, second)
    assert changed.keys() == {".gitignore", "pkg/.gitignore", "new.py"}
    assert not snapshots.revert_unchanged([(first, second)]).clashes
    assert [repo.read(path) for path in hidden] == ["the user's\n"] * 3
    assert repo.read(".gitignore") == "secret.txt\n/data/\n"
    assert not (repo.root / "new.py").exists()


def test_files_of_a_repository_that_lost_its_git_folder_are_not_removed_by_undo(
    repo: Repo, snapshots: Snapshots
) -> None:
    inner = Repo(repo.root / "vendor/inner")
    inner.write("x.py", "x\n")
    inner.commit_all()
    first = snapshots.take()
    (inner.root / ".git").rename(repo.root.parent / "gone")
    second = snapshots.take()
    assert kinds(snapshots, first, second) == {"vendor/inner": "deleted"}
    snapshots.revert_unchanged([(first, second)])
    assert inner.read("x.py") == "x\n"
