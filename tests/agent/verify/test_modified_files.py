"""Which files a session changed: asked often, so that what was compared is not read again while nothing changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from agent.verify import suite_evidence
from agent.verify.suite_evidence import list_modified_files
from tests.support.bench import workspace
from tools.core.workspace import Workspace


@pytest.fixture
def at(tmp_path: Path) -> Workspace:
    (tmp_path / "root").mkdir()
    made = workspace(tmp_path / "root", tmp_path / "own")
    for n in range(20):
        path = made.root / f"f{n}.txt"
        path.write_text("old\n")
        made.changes.remember_content(made.root, path.name, b"old\n")
    return made


def age(at: Workspace) -> None:
    """Wait until the times of a file would show another write."""
    time.sleep(0.12)


def test_what_was_compared_is_not_read_again(at: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    (at.root / "f3.txt").write_text("new\n")
    age(at)
    assert list_modified_files(at) == ["f3.txt"]
    read: list[str] = []
    ask = suite_evidence.read_current_content

    def count(workspace: Workspace, path: str) -> bytes | None:
        read.append(path)
        return ask(workspace, path)

    monkeypatch.setattr(suite_evidence, "read_current_content", count)
    assert list_modified_files(at) == ["f3.txt"]
    assert not read
    (at.root / "f4.txt").write_text("two\n")
    assert list_modified_files(at) == ["f3.txt", "f4.txt"]
    assert read == ["f4.txt"]


def test_a_change_is_seen_whatever_it_leaves_as_it_was(at: Workspace) -> None:
    path = at.root / "f1.txt"
    age(at)
    assert list_modified_files(at) == []
    times = path.stat()
    path.write_text("odd\n")  # the same size
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert list_modified_files(at) == ["f1.txt"]
    path.write_text("old\n")
    path.chmod(0o755)
    assert list_modified_files(at) == ["f1.txt"]
    path.chmod(0o644)
    assert list_modified_files(at) == []
    path.unlink()
    assert list_modified_files(at) == ["f1.txt"]
    path.write_text("x\n")
    age(at)
    assert list_modified_files(at) == ["f1.txt"]
    at.changes.forget("f1.txt")
    at.changes.remember_content(at.root, "f1.txt", b"x\n")
    assert list_modified_files(at) == []


def test_without_time_all_that_changed_counts_as_modified(at: Workspace) -> None:
    assert len(list_modified_files(at, seconds=-1)) == 20
