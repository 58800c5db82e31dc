"""The repository of a suite's own, whose commits are the bases of tasks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from packages.evaluation.suites.projects.commit_store import CommitStore
from tests.support.evaluation_tasks import write_tree


def test_a_store_named_by_a_relative_path_keeps_its_commits_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_tree(tmp_path / "files", {"a.py": "a = 1\n", ".gitignore": "*.log\n", "b.log": "kept\n"})
    monkeypatch.chdir(tmp_path)

    commit = CommitStore.open(Path("suite/.repository")).add_folder(files, "Base")

    listed = subprocess.run(
        ["git", "-C", tmp_path / "suite/.repository", "ls-tree", "--name-only", commit],
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert listed == [".gitignore", "a.py", "b.log"]


def test_the_same_files_have_the_same_commit(tmp_path: Path) -> None:
    files = write_tree(tmp_path / "files", {"a.py": "a = 1\n"})

    commits = [CommitStore.open(tmp_path / name).add_folder(files, "Base") for name in ("one", "two")]

    assert commits[0] == commits[1]
