"""Facts of a snapshot beyond its tree: the same whether the usual modes are known from an earlier one or not."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.snapshots.object_store import Store
from sandbox.snapshots.snapshot_metadata import build_metadata
from sandbox.snapshots.working_tree import MAX_FILE_SIZE
from sandbox.snapshots.workspace_scan import Walker

MODES = {"a.py": 0o644, "b.py": 0o644, "run.sh": 0o755, "go.sh": 0o755, "own.txt": 0o600, "all.txt": 0o666}


@pytest.mark.parametrize("odd", ["none", "large", "pipe", "link", "left out"])
def test_known_modes_change_no_fact(tmp_path: Path, odd: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name, mode in MODES.items():
        (root / name).write_text("x\n")
        (root / name).chmod(mode)
    if odd == "large":
        with (root / "big.bin").open("wb") as file:
            file.truncate(MAX_FILE_SIZE + 1)
        (root / "big.bin").chmod(0o644)
    elif odd == "pipe":
        os.mkfifo(root / "pipe")
    elif odd == "link":
        (root / "link").symlink_to("a.py")
    left_out = {"large": ["big.bin"], "left out": ["own.txt"]}.get(odd, [])
    Store(tmp_path / "store").open()  # git is asked in it
    scan = Walker(root, tmp_path / "store").scan()
    fresh = build_metadata(root, scan, None, [""], left_out)
    assert fresh.usual == (0o644, 0o755)
    assert fresh.modes == {"all.txt": 0o666, **({} if odd == "left out" else {"own.txt": 0o600})}
    assert (list(fresh.large), list(fresh.special)) == (
        ["big.bin"] * (odd == "large"),
        ["pipe"] * (odd == "pipe"),
    )
    assert build_metadata(root, scan, fresh, [""], left_out) == fresh
    other = replace(fresh, usual=(0o600, 0o700))
    assert set(build_metadata(root, scan, other, [""], left_out).modes) == set(MODES) - {"own.txt"}
