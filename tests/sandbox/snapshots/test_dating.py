"""What of a difference between two snapshots was certainly done within some moments."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.process.watchdog import PATIENCE, read_death_time
from sandbox.snapshots.workspace_snapshots import Snapshots


def now(folder: Path) -> int:
    """A moment as a watchdog notes it; whatever is done from here on gets a later one."""
    stamp = folder / "stamp"
    stamp.write_text("killed\n")
    noted = read_death_time(stamp)
    while read_death_time(stamp) <= noted:
        stamp.write_text("killed\n")
    return noted


def test_what_was_done_within_some_moments_is_told_from_what_was_done_since(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name in ("changed", "changed twice", "removed", "removed since", "kept/removed", "moved/inside", "x"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("before\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "brought").write_text("long there\n")
    snapshots = Snapshots(root, tmp_path / "store")
    before, since = snapshots.take(), now(tmp_path)
    for name in ("changed", "changed twice", "added", "new/added", "aside/added"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("a command's\n")
    (root / "x").chmod(0o755)
    (root / "kept/removed").unlink()
    until = now(tmp_path)
    (root / "changed twice").write_text("a person's\n")
    (root / "removed since").unlink()
    (root / "moved").rename(root / "moved away")
    (root / "aside").rename(root / "renamed")
    elsewhere.rename(root / "elsewhere")
    (root / "mine").write_text("a person's\n")

    def within(**other: list[str]) -> dict[str, str]:
        tree = snapshots.take_within(before, (since, until), **other)
        return {each.path: each.kind for each in snapshots.list_changes(before, tree)}

    work = {
        "added": "added",
        "changed": "modified",
        "kept/removed": "deleted",
        "new/added": "added",
        "x": "mode",
    }
    assert within() == work
    assert within(only=["added", "mine"]) == {"added": "added"}
    assert within(surely=["mine"]) == work | {"mine": "added"}
    assert snapshots.take_within(before, (since, 0)) == before, "nobody knows the moment"
    left = snapshots.revert([(before, snapshots.take_within(before, (since, until)))])
    assert left.clashes == {}
    assert not (root / "added").exists()
    assert (root / "mine").read_text() == (root / "changed twice").read_text() == "a person's\n"


def test_without_a_watchdogs_word_nobody_knows_when_a_process_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.process.watchdog.PATIENCE", PATIENCE / 20)
    assert read_death_time(tmp_path / "stamp") == 0
    (tmp_path / "stamp").touch()
    assert read_death_time(tmp_path / "stamp") == 0
