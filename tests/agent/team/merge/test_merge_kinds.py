"""Each kind of change and conflict, told by name; nothing is written where there is a conflict."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.team.merge.test_merge_property import commit, merge, read_tree
from tests.support.cli import git
from tests.tools.workspaces import workspace
from tools.core.workspace import Workspace

pytestmark = pytest.mark.slow

Change = Callable[[Path], object]


@pytest.fixture
def at(tmp_path: Path) -> Workspace:
    at = workspace(tmp_path)
    git(at.root, "init", "-q")
    put = lambda name, content: (at.root / name).write_bytes(content)  # noqa: E731 - six of them
    put("a.py", b"one\ntwo\nthree\nfour\nfive\n")
    put("crlf.txt", b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\nfour\r\n")
    put("open.txt", b"one\ntwo\nthree\nfour")
    put("latin.txt", "é\nb\nc\nd\n".encode("latin-1"))
    put("logo.bin", b"\x00\x01\x02")
    (at.root / "link").symlink_to("a.py")
    (at.root / "old").mkdir()
    put("old/x.py", b"x = 1\ny = 2\nz = 3\n")
    return at


def replace(name: str, old: bytes, new: bytes) -> Change:
    def change(root: Path) -> None:
        content = (root / name).read_bytes()
        assert old in content
        (root / name).write_bytes(content.replace(old, new))

    return change


def put(name: str, content: bytes = b"new\n") -> Change:
    return lambda root: (root / name).write_bytes(content)


def remove(name: str) -> Change:
    return lambda root: (root / name).unlink()


def move(old: str, new: str) -> Change:
    def change(root: Path) -> None:
        (root / new).parent.mkdir(exist_ok=True)
        (root / old).rename(root / new)
        if not any((root / old).parent.iterdir()):
            (root / old).parent.rmdir()

    return change


def relink(target: str) -> Change:
    def change(root: Path) -> None:
        (root / "link").unlink()
        (root / "link").symlink_to(target)

    return change


def set_mode(name: str, mode: int) -> Change:
    return lambda root: (root / name).chmod(mode)


MERGED: tuple[tuple[str, Change, Change, str, bytes | None], ...] = (
    ("CRLF and mark", replace("crlf.txt", b"one", b"1"), replace("crlf.txt", b"four", b"4"), "crlf.txt",
     b"\xef\xbb\xbf1\r\ntwo\r\nthree\r\n4\r\n"),
    ("no final newline", replace("open.txt", b"one", b"1"), replace("open.txt", b"four", b"4"), "open.txt",
     b"1\ntwo\nthree\n4"),
    ("latin-1", replace("latin.txt", b"\xe9", b"\xe8"), replace("latin.txt", b"d", b"D"), "latin.txt",
     b"\xe8\nb\nc\nD\n"),
    ("binary of one", put("other.py"), put("logo.bin", b"\x00\x09"), "logo.bin", b"\x00\x09"),
    ("mode beside lines", replace("a.py", b"one", b"1"), set_mode("a.py", 0o755), "a.py",
     b"1\ntwo\nthree\nfour\nfive\n"),
    ("moved by the child", replace("a.py", b"one", b"1"), move("a.py", "b.py"), "b.py",
     b"1\ntwo\nthree\nfour\nfive\n"),
    ("moved by the parent", move("a.py", "b.py"), replace("a.py", b"five", b"5"), "b.py",
     b"one\ntwo\nthree\nfour\n5\n"),
    ("both alike", replace("a.py", b"two", b"2"), replace("a.py", b"two", b"2"), "a.py",
     b"one\n2\nthree\nfour\nfive\n"),
    ("deleted by both", remove("logo.bin"), remove("logo.bin"), "logo.bin", None),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "ours", "theirs", "path", "content"), MERGED, ids=[each[0] for each in MERGED]
)
def test_it_is_merged(
    at: Workspace, name: str, ours: Change, theirs: Change, path: str, content: bytes | None
) -> None:
    assert merge_changes(at, ours, theirs) == []
    found = (at.root / path).read_bytes() if (at.root / path).exists() else None
    assert found == content
    if name == "mode beside lines":
        assert os.access(at.root / path, os.X_OK)


CONFLICTS: tuple[tuple[str, Change, Change], ...] = (
    ("lines", replace("a.py", b"two", b"2"), replace("a.py", b"two", b"zwei")),
    ("lines", relink("old"), relink("crlf.txt")),
    ("binary", put("logo.bin", b"\x00\x05"), put("logo.bin", b"\x00\x06")),
    ("added", put("new.py", b"a\n"), put("new.py", b"b\n")),
    ("deleted", remove("a.py"), replace("a.py", b"two", b"2")),
    ("deleted", replace("a.py", b"two", b"2"), remove("a.py")),
    ("renamed", move("a.py", "b.py"), move("a.py", "c.py")),
    ("renamed", move("a.py", "b.py"), remove("a.py")),
    ("renamed", move("old/x.py", "new/x.py"), put("old/y.py")),
    (
        "type",
        replace("a.py", b"two", b"2"),
        lambda root: (remove("a.py")(root), (root / "a.py").symlink_to("x")),
    ),
    ("folder", lambda root: (root / "d").mkdir() or put("d/x")(root), put("d")),
)


@pytest.mark.parametrize(("kind", "ours", "theirs"), CONFLICTS)
def test_a_conflict_is_told_and_nothing_written(
    at: Workspace, kind: str, ours: Change, theirs: Change
) -> None:
    (told,) = merge_changes(at, ours, theirs)
    assert f"({kind}: " in told


def test_names_that_differ_by_case_alone_are_a_conflict_where_files_have_one_of_them(at: Workspace) -> None:
    git(at.root, "config", "core.ignorecase", "true")
    (told,) = merge_changes(at, put("Readme.md", b"a\n"), put("README.md", b"b\n"))
    assert "README.md (case: this file system takes it for 'Readme.md')" in told


def test_converted_line_endings_stay_those_of_the_checkout(at: Workspace) -> None:
    git(at.root, "config", "core.autocrlf", "true")
    told = merge_changes(
        at, replace("crlf.txt", b"one\r\n", b"1\r\n"), replace("crlf.txt", b"four\r\n", b"4\r\n")
    )
    assert told == []
    assert (at.root / "crlf.txt").read_bytes() == b"\xef\xbb\xbf1\r\ntwo\r\nthree\r\n4\r\n"


def merge_changes(at: Workspace, ours: Change, theirs: Change) -> list[str]:
    """Merge two changes of the same start."""
    root = at.root
    base = commit(root)
    theirs(root)
    changed = git(root, "commit-tree", "-p", base, "-m", "theirs", read_tree(root)).strip()
    git(root, "reset", "-q", "--hard", base)
    ours(root)
    before = read_tree(root)
    told = merge(at, base, changed)
    assert not told or read_tree(root) == before
    return told
