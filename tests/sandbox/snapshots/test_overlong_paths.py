"""Entries that no path leads to are found by the folder that holds them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from sandbox.snapshots.coverage.overlong_paths import find_overlong_folders


def make_deep(root: Path, levels: int) -> None:
    handle = os.open(root, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * 250, dir_fd=handle)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)


def test_the_last_folder_with_a_path_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "src" / ".git").mkdir(parents=True)
    before = time.time() - 1
    make_deep(tmp_path / "src" / ".git", 20)
    make_deep(tmp_path, 3)
    assert find_overlong_folders(tmp_path, before) == []
    make_deep(tmp_path / "src", 20)
    (found,) = find_overlong_folders(tmp_path, before)
    assert found.startswith("src/ddd")
    assert 3_800 < len(f"{tmp_path}/{found}") <= 4_095
    assert find_overlong_folders(tmp_path, time.time() + 60) == []
