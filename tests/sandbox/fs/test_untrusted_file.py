"""Reading a stranger's files neither blocks nor fills the memory, and never leads outside."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.fs.regular_file import (
    UnsafeFileError,
    read_entry,
    read_first_line,
    read_regular_file,
    read_regular_text,
    read_start,
)
from sandbox.fs.untrusted_file import read_workspace_file, read_workspace_start, read_workspace_text

LIMIT = 1_000_000


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def make_sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(10 << 30)


TRAPS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (os.mkfifo, "it is a pipe, not a file"),
    "a socket": (make_socket, "it is a socket, not a file"),
    "a folder": (Path.mkdir, "it is a folder, not a file"),
    "a large file": (make_sparse, "it is larger than 1 MB"),
    "a loop": (lambda path: path.symlink_to(path.name), ""),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), ""),
    "a link to a pipe": (lambda path: (os.mkfifo(f"{path}.pipe"), path.symlink_to(f"{path.name}.pipe")), ""),
    "a link outside": (lambda path: path.symlink_to("../secret"), ""),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("secret")
    found = tmp_path / "root"
    found.mkdir()
    return found


@pytest.mark.timeout(20)
@pytest.mark.parametrize("trap", TRAPS)
def test_what_is_no_file_of_the_workspace_is_one_line(root: Path, trap: str) -> None:
    make, reason = TRAPS[trap]
    make(root / "x.toml")
    with pytest.raises(UnsafeFileError) as failed:
        read_workspace_file(root, "x.toml", LIMIT)
    assert "\n" not in failed.value.message
    assert str(root / "x.toml") in failed.value.message
    assert reason in failed.value.message
    assert read_workspace_text(root, "x.toml", LIMIT) == ""
    start = read_workspace_start(root, "x.toml", 10)
    assert start == (b"\0" * 10 if trap == "a large file" else None)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("trap", [trap for trap in TRAPS if trap != "a link outside"])
def test_nor_is_a_file_elsewhere_read_that_is_none(root: Path, trap: str) -> None:
    TRAPS[trap][0](root / "HEAD")
    with pytest.raises(UnsafeFileError):
        read_regular_file(root / "HEAD", LIMIT)
    with pytest.raises(UnsafeFileError):
        read_entry(str(root / "HEAD"), LIMIT)
    assert read_regular_text(root / "HEAD", LIMIT) is None
    assert read_first_line(root / "HEAD") in (None, "\0" * 8192)
    assert read_start(root / "HEAD", 4) in (None, b"\0" * 4)


def test_links_inside_lead_to_their_files(root: Path) -> None:
    (root / "docs").mkdir()
    (root / "docs/AGENTS.md").write_text("be kind")
    (root / "AGENTS.md").symlink_to("docs/AGENTS.md")
    (root / "CLAUDE.md").symlink_to(root / "AGENTS.md")
    assert read_workspace_file(root, "CLAUDE.md", LIMIT) == b"be kind"
    assert read_workspace_start(root, "AGENTS.md", 2) == b"be"
    assert read_workspace_text(root, "docs/AGENTS.md", LIMIT) == "be kind"


def test_what_is_missing_is_none(root: Path) -> None:
    (root / "file").write_text("x")
    for name in ("x", "x/y", "file/y"):
        assert read_workspace_file(root, name, LIMIT) is None
        assert read_regular_file(root / name, LIMIT) is None
    with pytest.raises(FileNotFoundError):
        read_entry(str(root / "x"), LIMIT)


def test_a_file_of_just_the_limit_is_read(root: Path) -> None:
    (root / "x").write_bytes(b"a" * 10)
    assert read_workspace_file(root, "x", 10) == b"a" * 10
    with pytest.raises(UnsafeFileError, match="larger"):
        read_workspace_file(root, "x", 9)
    assert read_first_line(root / "x") == "a" * 10
