"""Packs of the private store: git reads them, pruning shrinks them, nothing half-written counts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sandbox.errors import UserError
from sandbox.snapshots import Snapshots
from sandbox.snapshots import store as stores
from sandbox.snapshots.store import Store

SIZES = (0, 1, 15, 16, 2047, 2048, 70_000, 3_000_000)
"""Bytes: around the numbers at which the head of an object grows."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def content(size: int) -> bytes:
    return b"".join(number.to_bytes(4, "big") for number in range(size // 4 + 1))[:size]


def git(folder: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", f"--git-dir={folder}", *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_git_and_another_process_read_what_was_packed(store: Store) -> None:
    loose = store.write("blob", b"alone")
    with store.packing():
        names = {store.write("blob", content(size)): size for size in SIZES}
        assert store.write("blob", b"alone") == loose
        tree = store.write_tree({f"f{size}": (0o100644, name) for name, size in names.items()})
    assert len(list((store.folder / "objects/pack").iterdir())) == 2, "a pack and its index"
    git(store.folder, "fsck", "--strict")
    git(store.folder, "verify-pack", *map(str, (store.folder / "objects/pack").glob("*.idx")))
    other = Store(store.folder)
    for name, size in names.items():
        assert other.read(name) == content(size) == git(store.folder, "cat-file", "blob", name)
    assert other.read(loose) == b"alone"
    assert len(other.tree(tree)) == len(SIZES)
    assert not other.has("0" * 40)
    with pytest.raises(UserError, match="missing or damaged"):
        other.read("0" * 40)


def test_a_packed_object_is_not_written_again_and_is_found_at_once(store: Store) -> None:
    with store.packing():
        name = store.write("blob", b"x")
        again = Store(store.folder)
        assert not again.has(name), "not before the pack is whole"
    assert store.has(name)
    before = files(store.folder)
    assert store.write("blob", b"x") == name
    with store.packing():
        store.write("blob", b"x")
    assert files(store.folder) == before


def test_a_failure_leaves_nothing_behind_and_what_a_kill_left_is_pruned(store: Store) -> None:
    def fails() -> None:
        with store.packing():
            store.write("blob", b"x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    pack = store.folder / "objects/pack"
    assert list(pack.iterdir()) == []
    (pack / "tmp-1").write_bytes(b"PACK")
    (pack / f"pack-{'0' * 40}.pack").write_bytes(b"PACK")
    (pack / f"pack-{'1' * 40}.idx").write_bytes(b"not an index")
    kept = store.write_tree({"f": (0o100644, store.write("blob", b"kept"))})
    assert store.prune([kept]) == 0
    assert {path.suffix for path in pack.iterdir()} <= {".idx"}
    assert store.read(store.tree(kept)["f"][1]) == b"kept"


@pytest.mark.parametrize("kept", [0, 3, 12, 20])
def test_pruning_deletes_a_pack_or_keeps_the_part_that_is_needed(store: Store, kept: int) -> None:
    with store.packing():
        names = [store.write("blob", content(100 + number)) for number in range(20)]
        tree = store.write_tree({f"f{number}": (0o100644, name) for number, name in enumerate(names[:kept])})
    size = len(files(store.folder))
    removed = store.prune([tree] if kept else [])
    needed, there = (kept + 1, 21) if kept else (0, 20)  # with the tree; git never stores an empty one
    assert removed == (0 if 2 * needed >= there else there - needed)
    assert len(files(store.folder)) == (size if kept else size - 2)
    for number, name in enumerate(names[:kept]):
        assert store.read(name) == content(100 + number)
    assert store.has(names[-1]) == (2 * needed >= there)
    git(store.folder, "fsck", "--strict")


def test_a_large_pack_is_continued_in_another(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.snapshots.pack._LARGEST", 2_000)
    monkeypatch.setattr(stores, "_COMPRESSION", 0)
    with store.packing():
        names = [store.write("blob", bytes([number]) * 300) for number in range(20)]
    assert len(list((store.folder / "objects/pack").glob("*.pack"))) > 3
    assert [store.read(name)[0] for name in names] == list(range(20))
    git(store.folder, "fsck", "--strict")


def test_a_damaged_pack_is_told_as_missing_objects(store: Store) -> None:
    with store.packing():
        name = store.write("blob", content(5_000))
    pack = next((store.folder / "objects/pack").glob("*.pack"))
    data = pack.read_bytes()
    pack.write_bytes(data[:20] + b"\xff" * (len(data) - 20))
    with pytest.raises(UserError, match="missing or damaged"):
        Store(store.folder).read(name)


def test_a_first_snapshot_of_many_files_is_one_pack_and_is_undone_from_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(30):
        (root / f"d{number % 3}").mkdir(parents=True, exist_ok=True)
        (root / f"d{number % 3}" / f"f{number}").write_text(f"{number}\n")
    snapshots = Snapshots(root, tmp_path / "store", pack_from=30)
    before = snapshots.take()
    assert len([name for name in files(tmp_path / "store/objects") if not name.startswith("pack/")]) <= 2
    (root / "d1/f1").write_text("changed")
    after = snapshots.take()
    assert len(files(tmp_path / "store/objects")) > 2, "a few objects are written one by one"
    snapshots.close()
    again = Snapshots(root, tmp_path / "store")
    assert not again.restore(before, after).clashes
    assert (root / "d1/f1").read_text() == "1\n"
    again.close()
