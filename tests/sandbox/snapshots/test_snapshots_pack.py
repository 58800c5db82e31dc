"""Packs of the private store: git reads them, pruning shrinks them, nothing half-written counts."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.errors import UserError
from sandbox.snapshots import object_store as stores
from sandbox.snapshots.object_store import Store
from sandbox.snapshots.pack import Packs
from sandbox.snapshots.workspace_snapshots import LostObjectError, Snapshots
from tests.sandbox.boxes import bwrap

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


@pytest.mark.slow
def test_git_and_another_process_read_what_was_packed(store: Store) -> None:
    loose = store.write("blob", b"alone")
    with store.pack_writes():
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
    assert len(other.read_tree(tree)) == len(SIZES)
    assert not other.has("0" * 40)
    with pytest.raises(UserError, match="missing or damaged"):
        other.read("0" * 40)


def test_a_packed_object_is_not_written_again_and_is_found_at_once(store: Store) -> None:
    with store.pack_writes():
        name = store.write("blob", b"x")
        again = Store(store.folder)
        assert not again.has(name), "not before the pack is whole"
    assert store.has(name)
    before = files(store.folder)
    assert store.write("blob", b"x") == name
    with store.pack_writes():
        store.write("blob", b"x")
    assert files(store.folder) == before


def test_a_failure_leaves_nothing_behind_and_what_a_kill_left_is_pruned(store: Store) -> None:
    def fails() -> None:
        with store.pack_writes():
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
    assert store.read(store.read_tree(kept)["f"][1]) == b"kept"


@pytest.mark.parametrize("kept", [0, 3, 12, 20])
def test_pruning_deletes_a_pack_or_keeps_the_part_that_is_needed(store: Store, kept: int) -> None:
    with store.pack_writes():
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
    with store.pack_writes():
        names = [store.write("blob", bytes([number]) * 300) for number in range(20)]
    assert len(list((store.folder / "objects/pack").glob("*.pack"))) > 3
    assert [store.read(name)[0] for name in names] == list(range(20))
    git(store.folder, "fsck", "--strict")


def test_a_damaged_pack_is_told_as_missing_objects(store: Store) -> None:
    with store.pack_writes():
        name = store.write("blob", content(5_000))
    pack = next((store.folder / "objects/pack").glob("*.pack"))
    data = pack.read_bytes()
    pack.write_bytes(data[:20] + b"\xff" * (len(data) - 20))
    with pytest.raises(UserError, match="missing or damaged"):
        Store(store.folder).read(name)


@pytest.mark.parametrize("left", [0.0, 0.5, 0.99])
def test_a_pack_of_which_only_a_part_was_written_counts_as_missing(store: Store, left: float) -> None:
    with store.pack_writes():
        name = store.write("blob", random.Random(1).randbytes(50_000))
    pack = next((store.folder / "objects/pack").glob("*.pack"))
    data = pack.read_bytes()
    pack.write_bytes(data[: int(len(data) * left)])
    other = Store(store.folder)
    assert not other.has(name)
    with pytest.raises(UserError, match="missing or damaged"):
        other.read(name)
    assert other.write("blob", random.Random(1).randbytes(50_000)) == name
    assert len(other.read(name)) == 50_000


def test_an_object_is_never_read_in_part(store: Store) -> None:
    with store.pack_writes():
        name = store.write("blob", random.Random(1).randbytes(50_000))
    other = Store(store.folder)
    assert other.has(name)
    pack = next((store.folder / "objects/pack").glob("*.pack"))
    pack.write_bytes(pack.read_bytes()[:30_000])  # after it was found to be whole
    with pytest.raises(UserError, match="missing or damaged"):
        other.read(name)


def test_what_was_found_can_be_read_while_another_thread_writes_a_pack(store: Store) -> None:
    with store.pack_writes():
        name = store.write("blob", b"x" * 100)
    packs = Packs(store.folder / "objects/pack")
    found = packs.find(name)
    assert found
    packs.close()  # as at the end of a snapshot that became a pack
    assert found[0].find_offset(name) == found[1]
    assert found[0].read(found[1]) == b"x" * 100


@pytest.mark.slow
def test_there_may_be_more_packs_than_open_files(store: Store) -> None:
    names = []
    for number in range(60):
        with store.pack_writes():
            names.append(store.write("blob", b"%d" % number))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 40, limits[1]))
    try:
        other = Store(store.folder)
        assert [other.read(name) for name in names] == [b"%d" % number for number in range(60)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_two_packs_of_one_process_do_not_share_a_file(store: Store) -> None:
    other = Store(store.folder)
    with store.pack_writes(), other.pack_writes():
        first = store.write("blob", b"first" * 1000)
        second = other.write("blob", b"second" * 1000)
    assert (Store(store.folder).read(first), Store(store.folder).read(second)) == (
        b"first" * 1000,
        b"second" * 1000,
    )
    git(store.folder, "fsck", "--strict")


ON_A_SMALL_DISK = """
import random, sys
from pathlib import Path
from sandbox.errors import UserError
from sandbox.snapshots.object_store import Store

store = Store(Path(sys.argv[1]) / "store")
try:
    with store.pack_writes():
        for number in range(3000):
            store.write("blob", random.Random(number).randbytes(1000))
except UserError as error:
    print(error.fault.name, sorted(path.name for path in (store.folder / "objects/pack").iterdir()))
"""


@pytest.mark.slow
def test_a_full_disk_is_told_and_not_kept_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["--dev-bind", "/", "/", "--size", str(1 << 20), "--tmpfs", str(disk)]
    argv = [str(bwrap()), *mount, "--", sys.executable, "-c", ON_A_SMALL_DISK, str(disk)]
    done = subprocess.run(
        argv, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "STORAGE_FULL []\n", done.stderr


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
    assert not again.revert_unchanged([(before, after)]).clashes
    assert (root / "d1/f1").read_text() == "1\n"
    again.close()


@pytest.mark.parametrize("pack_from", [1, 1000])
def test_what_cannot_be_read_is_dropped_and_stored_again_by_the_next_snapshot(
    tmp_path: Path, pack_from: int
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name in "abc":
        (root / name).write_text(f"the content of {name}\n" * 50)
    snapshots = Snapshots(root, tmp_path / "store", pack_from=pack_from)
    first = snapshots.take()
    snapshots.close()
    state = snapshots.find_state(first, "b")
    assert state is not None
    objects = tmp_path / "store" / "objects"
    if pack_from == 1:
        (pack,) = objects.glob("pack/*.pack")
        found = Packs(objects / "pack").find(state.id)
        assert found is not None
        with pack.open("r+b") as file:
            file.seek(found[1] + 4)
            file.write(b"\0\0\0\0")
    else:
        (objects / state.id[:2] / state.id[2:]).write_bytes(b"\0" * 40)
    later = Snapshots(root, tmp_path / "store", pack_from=pack_from)
    with pytest.raises(LostObjectError):
        later.read_content(state)
    assert later.is_damaged
    assert later.drop_damaged() == 1
    assert not later.is_damaged
    assert later.take() == first
    assert later.read_content(state) == (root / "b").read_bytes()
    git(tmp_path / "store", "fsck", "--strict")
