"""Data sets in bare repositories are unpacked once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from packages.evaluation.suites.source_folder import open_source
from sandbox.errors import UserError
from tests.support.evaluation_tasks import write_tree


def test_a_bare_repository_is_unpacked_in_part_and_once(tmp_path: Path) -> None:
    work = write_tree(tmp_path / "work", {"data/a.txt": "one", "other/b.txt": "two"})
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=work, check=True)
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "clone", "-q", "--bare", work, bare], check=True)
    found = open_source(bare, tmp_path / "cache", ["data", "missing"])
    assert [each.relative_to(found).as_posix() for each in found.rglob("*.txt")] == ["data/a.txt"]
    (found / "data/a.txt").write_text("kept")
    assert open_source(bare, tmp_path / "cache", ["data", "missing"]) == found
    assert (found / "data/a.txt").read_text() == "kept"
    assert open_source(work, tmp_path / "cache") == work
    with pytest.raises(UserError, match="has none of missing"):
        open_source(bare, tmp_path / "cache", ["missing"])
    with pytest.raises(UserError, match="no such folder"):
        open_source(tmp_path / "nowhere", tmp_path / "cache")
