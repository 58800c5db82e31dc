"""Files that git has are not copied before they change; undo restores their bytes all the same."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from sandbox.errors import UserError
from sandbox.snapshots.coverage import folder_walk
from sandbox.snapshots.object_store import compute_object_id
from sandbox.snapshots.tracked_files import NOTHING, GitObjects
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.repo import Repo

LONG_AGO = 1_600_000_000


def commit_aged(repo: Repo, files: Mapping[str, bytes]) -> None:
    """Commit files that are older than the index, so that git trusts their times."""
    for path, content in files.items():
        place = repo.write(path, content)
        os.utime(place, (LONG_AGO, LONG_AGO))
    repo.commit_all()


def open_snapshots(repo: Repo, folder: str = "") -> Snapshots:
    return Snapshots(repo.root / folder, repo.root.parent / "store", borrow_from=1)


def is_copied(snapshots: Snapshots, content: bytes) -> bool:
    return snapshots._store.has(compute_object_id("blob", content))


FORMATS = {
    "plain": [],
    "version 4": ["update-index", "--index-version", "4"],
    "version 3": ["add", "--intent-to-add", "draft.py"],
    "split": ["update-index", "--split-index"],
}


@pytest.mark.parametrize("index", FORMATS)
def test_what_git_has_is_copied_when_it_changes_and_restored_after_git_dropped_it(
    tmp_path: Path, index: str
) -> None:
    repo = Repo(tmp_path / "repo")
    commit_aged(repo, {"a.py": b"one\n", "deep/er/b.py": b"two\n", "deep/c.py": b"three\n"})
    repo.write("draft.py", "draft\n")
    if FORMATS[index]:
        repo.git(*FORMATS[index])
    snapshots = open_snapshots(repo)
    before = snapshots.take()
    assert is_copied(snapshots, b"one\n") == (index == "split")
    assert is_copied(snapshots, b"draft\n")
    repo.write("a.py", "changed\n")
    (repo.root / "deep/er/b.py").unlink()
    (repo.root / "draft.py").unlink()
    after = snapshots.take()
    repo.git("checkout", "-q", "--orphan", "other")
    repo.git("rm", "-rqf", "--cached", ".")
    repo.git("branch", "-D", "main")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert not snapshots.revert_unchanged([(before, after)]).clashes
    assert (repo.read("a.py"), repo.read("deep/er/b.py"), repo.read("draft.py")) == (
        "one\n",
        "two\n",
        "draft\n",
    )
    snapshots.close()


CONVERSIONS: Mapping[
    str, tuple[str, list[str], bytes]
] = {  # name → attributes, settings, content in the work tree
    "eol": ("*.txt text eol=crlf\n", [], b"one\r\ntwo\r\n"),
    "auto": ("* text=auto\n", [], b"one\r\ntwo\r\n"),
    "autocrlf": ("", ["core.autocrlf", "true"], b"one\r\ntwo\r\n"),
    "ident": ("*.txt ident\n", [], b"$Id: abc $\n"),
    "encoding": ("*.txt working-tree-encoding=GBK\n", [], "测试 Ж\n".encode("gbk")),
    "filter": ("*.txt filter=rot\n", ["filter.rot.clean", "tr a-z b-za"], b"abc\n"),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_file_whose_blob_has_other_bytes_is_copied(tmp_path: Path, name: str) -> None:
    attributes, settings, content = CONVERSIONS[name]
    repo = Repo(tmp_path / "repo")
    if settings:
        repo.git("config", *settings)
    if attributes:
        repo.write(".gitattributes", attributes)
    commit_aged(repo, {"a.txt": content})
    snapshots = open_snapshots(repo)
    before = snapshots.take()
    repo.write("a.txt", "changed\n")
    assert not snapshots.revert_unchanged([(before, snapshots.take())]).clashes
    assert (repo.root / "a.txt").read_bytes() == content
    snapshots.close()


def test_a_file_that_was_touched_is_known_by_its_content(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    commit_aged(repo, {"sub/a.py": b"one\n", "sub/b.py": b"two\n"})
    os.utime(repo.root / "sub/a.py")
    repo.write("sub/b.py", "TWO\n")
    snapshots = open_snapshots(repo, "sub")
    snapshots.take()
    assert not is_copied(snapshots, b"one\n")
    assert is_copied(snapshots, b"TWO\n")
    snapshots.close()


def test_only_files_that_git_has_not_count_against_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_walk, "MAX_FILES", 5)
    repo = Repo(tmp_path / "repo")
    commit_aged(repo, {f"d{number}/a.py": b"x\n" for number in range(20)})
    snapshots = open_snapshots(repo)
    snapshots.take()
    for number in range(6):
        repo.write(f"new{number}.py", "y\n")
    with pytest.raises(UserError, match="more than 5 files that git has not") as refusal:
        snapshots.take()
    assert "add the files to git" in refusal.value.hint
    snapshots.close()


@pytest.mark.parametrize("damage", ["ids of another length", "cut short"])
def test_files_are_copied_where_the_index_is_not_read(tmp_path: Path, damage: str) -> None:
    repo = Repo(tmp_path / "repo", init=False)
    repo.git("init", "-q", *(("--object-format=sha256",) if damage != "cut short" else ()))
    commit_aged(repo, {f"{name}.py": f"{name}\n".encode() for name in ("a", "b", "c", "d")})
    if damage == "cut short":
        index = repo.root / ".git/index"
        index.write_bytes(index.read_bytes()[:100])
    files = {path.name: sign for path in repo.root.iterdir() if (sign := folder_walk.read_signature(path))}
    assert GitObjects(repo.root).read_tracked(files) == NOTHING
