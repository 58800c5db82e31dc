"""A walk that looks only where the kernel says that something happened finds what a whole walk finds."""

from __future__ import annotations

import os
import random
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.snapshots import stat_cache
from sandbox.snapshots.folder_watch import Watch
from sandbox.snapshots.object_store import Store
from sandbox.snapshots.tracked_files import GitObjects
from sandbox.snapshots.workspace_scan import Walker
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.repo import Repo
from tests.support.stress import count_cases

SEED = int(os.environ.get("PATCHWRIGHT_SEED", "20261122"))
ROUNDS = count_cases(60)

NAMES = ("a", "b c", "n\nl", "sub", "sub/x", "sub/deep", "sub/deep/y", "ü", "out.log", "logs", "logs/kept")


def deed(draw: random.Random, root: Path, outside: Path) -> None:
    """One thing done to the tree; what is impossible is not done."""
    path, other = (root / draw.choice(NAMES) for _ in range(2))
    with suppress(OSError):
        match draw.randrange(11):
            case 0 | 1 | 2:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(str(draw.random()))
            case 3:
                path.mkdir(parents=True)
            case 4:
                path.rename(other)
            case 5:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            case 6:
                path.chmod(draw.choice((0o644, 0o755, 0o600)) | (0o100 if path.is_dir() else 0))
            case 7:
                path.symlink_to(draw.choice(NAMES))
            case 8:
                os.link(outside, path)
                outside.write_text(str(draw.random()))
            case 9:
                (root / ".gitignore").write_text(draw.choice(("*.log\n", "*.log\nlogs/\n", "sub/deep/\n")))
            case _:
                outside.write_text(str(draw.random()))


def nest(draw: random.Random, root: Path) -> None:
    """A repository inside comes or goes."""
    inner = root / "sub" / ".git"
    with suppress(OSError):
        if inner.exists():
            shutil.rmtree(inner)
        else:
            inner.mkdir()
            (inner / "HEAD").write_text("1" * 40 + "\n")


def seen(walker: Walker) -> object:
    found = walker.scan()
    folders = sorted(set(found.folders)), sorted(found.unreadable), found.modes
    return found.files, found.nested, *folders, sorted(found.linked), sorted(found.turned), found.hidden


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_what_is_found_by_watching_is_what_is_there(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "root")
    repo.write(".gitignore", "*.log\n")
    repo.write("tracked.log", "forced\n")
    repo.git("add", "-f", "tracked.log")
    outside = tmp_path / "outside"
    outside.write_text("x")
    watching, looking = (Walker(repo.root, tmp_path / "store", watch_from) for watch_from in (0, 1 << 30))
    Snapshots(repo.root, tmp_path / "store").take()  # makes the folder that git is asked in
    draw = random.Random(SEED)
    for number in range(ROUNDS):
        for _ in range(draw.randrange(4)):
            nest(draw, repo.root) if draw.random() < 0.05 else deed(draw, repo.root, outside)
        if draw.random() < 0.1:
            (repo.root / "tracked.log").write_text(str(number))
        assert seen(watching) == seen(looking), f"round {number}, seed {SEED}"
        fresh = Walker(repo.root, tmp_path / "store", watch_from=1 << 30).scan()
        last = watching.scan()
        visible = {path: sign for path, sign in last.files.items() if path not in last.hidden}
        assert visible == fresh.files, f"round {number}, seed {SEED}"
    watching.reset()


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_where_nothing_happened_the_last_scan_is_handed_out(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "root")
    repo.write("sub/a.txt", "x\n")
    snapshots = Snapshots(repo.root, tmp_path / "store", watch_from=0)
    first = snapshots.take()
    walker = Walker(repo.root, tmp_path / "store", watch_from=0)
    scan = walker.scan()
    if Watch(repo.root).read_changes() is None and walker._watch.read_changes() is None:
        pytest.skip("the file system of this machine is none that can be watched")
    assert walker.scan() is scan
    repo.write("sub/b.txt", "y\n")
    assert walker.scan().files.keys() == {"sub/a.txt", "sub/b.txt"}
    assert snapshots.take() != first
    walker.reset()
    snapshots.close()


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_what_is_written_by_a_name_that_a_file_got_meanwhile_is_seen(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "root")
    repo.write("one/a.txt", "x\n")
    repo.write("two/b.txt", "y\n")
    walker = Walker(repo.root, tmp_path / "store", watch_from=0)
    Snapshots(repo.root, tmp_path / "store").take()  # makes the folder that git is asked in
    before = walker.scan().files["one/a.txt"]
    os.link(repo.root / "one/a.txt", repo.root / "two/c.txt")
    (repo.root / "two/c.txt").write_text("longer than before\n")
    after = walker.scan().files
    assert after["one/a.txt"] == after["two/c.txt"] != before
    walker.reset()


def test_the_next_process_reads_only_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = Repo(tmp_path / "root")
    for name in ("a.txt", "sub/b.txt"):
        repo.write(name, name)
    first = Snapshots(repo.root, tmp_path / "store")
    tree = first.take()
    while first._unsure:  # written in the very tick of the kernel's clock in which it was looked at
        first.take()
    first.close()
    read: list[str] = []
    plain = Snapshots._store_file
    monkeypatch.setattr(
        Snapshots, "_store_file", lambda self, path, sign: read.append(path) or plain(self, path, sign)
    )
    second = Snapshots(repo.root, tmp_path / "store")
    assert (second.take(), read) == (tree, [])
    repo.write("sub/b.txt", "other")
    assert second.take() != tree
    assert read == ["sub/b.txt"]
    second.close()


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_a_cache_that_is_torn_or_names_what_is_gone_is_not_believed(
    tmp_path: Path, damage: bytes | None
) -> None:
    repo = Repo(tmp_path / "root")
    repo.write("a.txt", "x\n")
    first = Snapshots(repo.root, tmp_path / "store")
    tree = first.take()
    first.close()
    cache = tmp_path / "store" / stat_cache.NAME
    assert cache.is_file()
    if damage is None:
        shutil.rmtree(tmp_path / "store/objects")
    else:
        cache.write_bytes(cache.read_bytes()[:40] + damage)
    second = Snapshots(repo.root, tmp_path / "store")
    assert second.take() == tree
    assert second.find_state(tree, "a.txt") is not None
    second.prune([])
    assert not cache.exists()
    second.close()


@pytest.mark.parametrize("inner", ["", "src"])
@pytest.mark.parametrize("change", ["", "new.txt", "src/deep/a.py"])
def test_the_first_scan_of_a_large_repository_is_watched(tmp_path: Path, inner: str, change: str) -> None:
    """git's index says how large a tree is that was never scanned: the second scan reads only what changed."""
    repo = Repo(tmp_path / "shop")
    for number in range(5):
        repo.write(f"src/deep/{'abcde'[number]}.py", f"x = {number}\n")
    repo.commit_all()
    root = repo.root / inner
    if not _can_watch(root):
        pytest.skip("the file system of this machine is none that can be watched")
    for name in ("store", "other"):
        Store(tmp_path / name).open()  # git is asked in it
    walker = Walker(root, tmp_path / "store", 3, GitObjects(root).count_tracked)
    first = walker.scan()
    assert walker.scan() is first
    if change:
        (repo.root / change).write_text("changed\n")
    fresh = Walker(root, tmp_path / "other", watch_from=1 << 30).scan()
    assert walker.scan().files == fresh.files


def _can_watch(root: Path) -> bool:
    watch = Watch(root)
    watch.start()
    found = watch.read_changes() is not None
    watch.stop()
    return found
