"""Several files change together or not at all; what stands in the way is told, and nothing is left behind."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.errors import Fault, UserError
from sandbox.fs.text_file import compute_fingerprint
from sandbox.fs.transaction.transactions import Conflict, Remove, Write
from sandbox.fs.workspace_tree import NotAFile, OutsideWorkspace, ProtectedPath
from tests.sandbox.trees import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.make(tmp_path, {"cart.py": b"total = 0\n", "src/order.py": b"lines = []\n", "old.py": b"\n"})


def content(place: Place) -> dict[str, bytes]:
    """Every file and where every link leads."""
    return {path: bytes_ for path, (mode, bytes_) in place.image().items() if not stat.S_ISDIR(mode)}


def test_several_files_are_written_made_and_removed_at_once(place: Place) -> None:
    place.commit(
        place.write("cart.py", b"total = 1\n"),
        place.write("src/order.py", b""),
        place.write("new/deep/made.py", b"x = 1\n"),
        place.remove("old.py"),
    )
    assert content(place) == {
        "cart.py": b"total = 1\n",
        "src/order.py": b"",
        "new/deep/made.py": b"x = 1\n",
    }
    assert place.records() == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (Write(path="src/order.py", content=b"x", before=compute_fingerprint(b"other")), "has changed since"),
        (Write(path="src/order.py", content=b"x", before=None), "exists already"),
        (Write(path="nowhere/x.py", content=b"x", before=compute_fingerprint(b"x")), "is gone"),
        (Remove(path="src/order.py", before=compute_fingerprint(b"other")), "has changed since"),
        (Remove(path="missing.py", before=compute_fingerprint(b"")), "is gone"),
    ],
)
@pytest.mark.parametrize("company", ["alone", "with others"])
def test_a_file_that_is_not_as_expected_keeps_everything_as_it_is(
    place: Place, change: Write | Remove, reason: str, company: str
) -> None:
    others = [place.write("cart.py", b"total = 1\n"), place.write("a/b", b"x")] if company != "alone" else []
    before = place.image()
    with pytest.raises(Conflict, match=reason) as caught:
        place.commit(*others, change)
    assert caught.value.paths == (change.path,)
    assert place.image() == before
    assert place.records() == []


def test_every_file_in_conflict_is_named(place: Place) -> None:
    with pytest.raises(Conflict) as caught:
        place.commit(
            Write(path="cart.py", content=b"", before=None),
            Remove(path="gone.py", before=compute_fingerprint(b"")),
        )
    assert caught.value.paths == ("cart.py", "gone.py")
    assert str(caught.value) == "nothing was written: 'cart.py' exists already; 'gone.py' is gone"


def test_modes_are_kept_and_set(place: Place) -> None:
    (place.root / "cart.py").chmod(0o754)
    umask = os.umask(0o027)
    try:
        place.commit(
            place.write("cart.py", b"1"),
            place.write("src/order.py", b"2", mode=0o700),
            place.write("plain", b"3"),
            place.write("script", b"4", mode=0o755),
        )
        place.commit(place.write("plain", b"3", mode=0o444))
    finally:
        os.umask(umask)
    modes = {path: stat.S_IMODE(mode) for path, (mode, _) in place.image().items()}
    assert modes["cart.py"] == 0o754
    assert modes["src/order.py"] == 0o700
    assert modes["plain"] == 0o444
    assert modes["script"] == 0o755


def test_links_are_made_led_elsewhere_and_replaced_by_files(place: Place) -> None:
    for name in ("moved", "replaced"):
        (place.root / name).symlink_to("old.py")
    before = compute_fingerprint(b"old.py")
    place.commit(
        Write(path="moved", content=b"cart.py", before=before, place="link"),
        Write(path="replaced", content=b"x = 1\n", before=before, place="entry"),
        Write(path="src/made", content=b"../cart.py", before=None, place="link"),
        Write(
            path="cart.py", content=b"src/order.py", before=compute_fingerprint(b"total = 0\n"), place="link"
        ),
    )
    assert (place.root / "moved").readlink() == Path("cart.py")
    assert (place.root / "src/made").readlink() == Path("../cart.py")
    assert (place.root / "cart.py").readlink() == Path("src/order.py")
    assert not (place.root / "replaced").is_symlink()
    assert (place.root / "replaced").read_bytes() == b"x = 1\n"
    assert (place.root / "old.py").read_bytes() == b"\n", "what a link led to is left alone"
    with pytest.raises(Conflict, match="has changed since"):
        place.commit(Write(path="moved", content=b"new.py", before=before, place="link"))
    assert (place.root / "moved").readlink() == Path("cart.py")
    assert place.records() == []


def test_of_a_link_the_file_that_it_leads_to_is_written(place: Place) -> None:
    (place.root / "link.py").symlink_to("src/order.py")
    (place.root / "folder").symlink_to("src")
    (place.root / "dangling").symlink_to("not/yet")
    place.commit(
        place.write("link.py", b"one\n"),
        place.write("folder/two.py", b"two\n"),
        place.write("dangling", b"3"),
    )
    assert (place.root / "link.py").is_symlink()
    assert (place.root / "src/order.py").read_bytes() == b"one\n"
    assert (place.root / "src/two.py").read_bytes() == b"two\n"
    assert (place.root / "not/yet").read_bytes() == b"3"


@pytest.mark.parametrize("seen", [b"src/order.py", b"lines = []\n"], ids=["its text", "its target"])
def test_a_link_is_removed_itself(place: Place, seen: bytes) -> None:
    (place.root / "link.py").symlink_to("src/order.py")
    place.commit(Remove(path="link.py", before=compute_fingerprint(seen)), place.write("cart.py", b""))
    assert not (place.root / "link.py").is_symlink()
    assert (place.root / "src/order.py").read_bytes() == b"lines = []\n"


def test_links_that_lead_outside_are_refused(place: Place, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("precious")
    (place.root / "way").symlink_to(tmp_path)
    (place.root / "secret").symlink_to(tmp_path / "secret")
    before = place.image()
    for path in ("way/secret", "secret", "../secret", "way/new"):
        change = Write(path=path, content=b"x", before=compute_fingerprint(b"precious"))
        with pytest.raises(OutsideWorkspace):
            place.commit(place.write("cart.py", b"1"), change)
    assert place.image() == before
    assert (tmp_path / "secret").read_text() == "precious"


@pytest.mark.parametrize("path", [".git/config", "src/.git/x", "patchwright.toml", ".patchwright/x", "."])
def test_protected_paths_are_refused(place: Place, path: str) -> None:
    before = place.image()
    for change in (Write(path=path, content=b"x", before=None), Remove(path=path, before="")):
        with pytest.raises(ProtectedPath):
            place.commit(place.write("cart.py", b"1"), change)
    assert place.image() == before


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("cart.py", "cart.py"),
        ("cart.py", "src/../cart.py"),
        ("cart.py", "./cart.py"),
        ("cart.py", "link.py"),
        ("link.py", "other-link.py"),
        ("folder/new.py", "src/new.py"),
        ("new.py", "new.py/below"),
        ("a/b", "a/b/c/d"),
    ],
)
def test_two_changes_of_one_place_are_refused(place: Place, first: str, second: str) -> None:
    (place.root / "link.py").symlink_to("cart.py")
    (place.root / "other-link.py").symlink_to("cart.py")
    (place.root / "folder").symlink_to("src")
    before = place.image()
    for one, other in ((first, second), (second, first)):
        now = compute_fingerprint(b"total = 0\n") if (place.root / one).is_file() else None
        changes = [Write(path=path, content=b"x", before=now) for path in (one, other)]
        with pytest.raises(ValueError, match=r"one file|cannot be a file and the folder"):
            place.commit(*changes)
    assert place.image() == before


def test_a_link_cannot_be_removed_and_written_through_at_once(place: Place) -> None:
    (place.root / "link.py").symlink_to("cart.py")
    with pytest.raises(ValueError, match="one file"):
        place.commit(place.write("link.py", b"x"), place.remove("link.py"))


def test_another_hard_link_keeps_the_old_content(place: Place) -> None:
    os.link(place.root / "cart.py", place.root / "same.py")
    place.commit(place.write("cart.py", b"1"), place.write("same.py", b"2"))
    assert (content(place)["cart.py"], content(place)["same.py"]) == (b"1", b"2")
    os.link(place.root / "cart.py", place.root / "third.py")
    place.commit(place.write("cart.py", b"3"), place.remove("old.py"))
    assert (content(place)["cart.py"], content(place)["third.py"]) == (b"3", b"1")


@pytest.mark.parametrize("in_the_way", ["folder", "pipe", "file as a folder"])
def test_what_is_no_file_stops_everything(place: Place, in_the_way: str) -> None:
    path = "cart.py/below" if in_the_way == "file as a folder" else "src/thing"
    if in_the_way == "folder":
        (place.root / path).mkdir()
    elif in_the_way == "pipe":
        os.mkfifo(place.root / path)
    before = place.image() if in_the_way != "pipe" else None
    others = [place.write("old.py", b"1"), place.write("new/made.py", b"2"), place.remove("src/order.py")]
    with pytest.raises(NotAFile):
        place.commit(*others, Write(path=path, content=b"x", before=None))
    if before is not None:
        assert place.image() == before
        return
    with pytest.raises(NotAFile):
        place.commit(*others, Remove(path=path, before=""))
    assert sorted(os.listdir(place.root / "src")) == ["order.py", "thing"]


def test_no_permission_is_one_clear_line_and_nothing_is_changed(place: Place) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (place.root / "cart.py").chmod(0o444)
    (place.root / "src").chmod(0o555)
    before = place.image()
    for change in (
        place.write("cart.py", b"x"),
        place.write("src/new.py", b"x"),
        place.write("src/order.py", b"x"),
        place.write("src/deep/new.py", b"x"),
        place.remove("src/order.py"),
    ):
        with pytest.raises(UserError, match="no permission") as caught:
            place.commit(place.write("old.py", b"1"), place.write("new/made.py", b"2"), change)
        assert caught.value.fault is Fault.READ_ONLY
        assert place.image() == before
    place.commit(
        place.remove("cart.py"), place.write("old.py", b"1")
    )  # a file's own mode does not protect it
    (place.root / "src").chmod(0o755)
    assert not (place.root / "cart.py").exists()


def test_a_commit_needs_the_lock_and_one_thread_takes_it_once(place: Place) -> None:
    transactions = place.transactions()
    with pytest.raises(RuntimeError, match="inside lock_tree"):
        transactions.commit([place.write("cart.py", b"1")])
    with transactions.lock_tree(), pytest.raises(RuntimeError, match="entered twice"):
        transactions.recover()
    with transactions.lock_tree() as recovery:
        transactions.commit([])
    assert recovery is None


def test_a_change_from_outside_while_contents_are_written_is_a_conflict(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(place)
    sync = os.fsync

    def slow(handle: int) -> None:
        (place.root / "src/order.py").write_bytes(b"somebody else's\n")
        sync(handle)

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(Conflict, match=r"'src/order\.py' has changed"):
        place.commit(
            place.write("cart.py", b"1"), place.write("src/order.py", b"2"), place.write("new/x", b"3")
        )
    assert content(place) == {**before, "src/order.py": b"somebody else's\n"}
    assert not (place.root / "new").exists()


def test_a_change_from_outside_in_the_last_moment_is_not_overwritten(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def meddle(old: str, new: str, **folders: int) -> None:
        if new == "cart.py":
            (place.root / "src/order.py").write_bytes(b"somebody else's\n")
            (place.root / "old.py").write_bytes(b"somebody else's\n")
        rename(old, new, **folders)

    monkeypatch.setattr(os, "rename", meddle)
    with pytest.raises(Conflict, match="changed by somebody else") as caught:
        place.commit(place.write("cart.py", b"1"), place.write("src/order.py", b"2"), place.remove("old.py"))
    assert caught.value.paths == ("src/order.py", "old.py")
    now = content(place)
    (kept,) = now.keys() - {"cart.py", "src/order.py", "old.py"}
    assert kept.startswith("src/order.py.patchwright-")
    assert repr(kept) in str(caught.value)
    assert [now["cart.py"], now["src/order.py"], now[kept]] == [b"1", b"somebody else's\n", b"2"]
    assert now["old.py"] == b"somebody else's\n"
    assert place.records() == []


@pytest.mark.parametrize("call", ["open", "fsync", "rename", "unlink", "mkdir", "fchmod", "listdir"])
def test_an_interrupt_anywhere_leaves_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """As Ctrl-C does it: once, right after any of the calls that change something."""
    ends = set()
    real: Callable[..., object] = getattr(os, call)
    for number in range(60):
        place = Place.make(tmp_path / str(number), {"a": b"a", "b": b"b", "c": b"c"})
        before = place.image()
        changes = [place.write("a", b"1", 0o600), place.write("new/b", b"2"), place.remove("c")]
        left = [number]

        def interrupted(*given: object, left: list[int] = left, **named: object) -> object:
            result = real(*given, **named)
            left[0] -= 1
            if left[0] == -1:
                if isinstance(result, int):
                    os.close(result)
                raise KeyboardInterrupt
            return result

        with monkeypatch.context() as patched:
            patched.setattr(os, call, interrupted)
            try:
                place.commit(*changes)
            except KeyboardInterrupt:
                ends.add("interrupted")
        if left[0] >= 0:
            break
        whole = content(place) == {"a": b"1", "b": b"b", "new/b": b"2"}
        assert whole or place.image() == before, (call, number)
        assert place.records() == []
    else:
        pytest.fail(f"os.{call} is called without end")
    assert ends == {"interrupted"}, f"os.{call} is not called any more: name another"


def test_no_handle_is_left_open(place: Place) -> None:
    def use() -> None:
        place.commit(place.write("cart.py", b"1"), place.write("a/b", b"2"))
        place.commit(place.remove("a/b"))
        with pytest.raises(Conflict):
            place.commit(Write(path="cart.py", content=b"", before=None))

    use()
    before = len(os.listdir("/proc/self/fd"))
    use()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.slow
def test_many_files_need_few_handles(place: Place) -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(
        int(each) for each in os.listdir("/proc/self/fd")
    )  # other tests of this process left some open
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(highest + 200, limits[0]), limits[1]))
    try:
        place.commit(*(place.write(f"deep/{n % 7}/{n}.py", b"%d\n" % n) for n in range(600)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert len(list((place.root / "deep").rglob("*.py"))) == 600


def test_the_journal_is_private(place: Place) -> None:
    place.commit(place.write("cart.py", b"1"))
    assert stat.S_IMODE(place.journal.stat().st_mode) == 0o700


def test_threads_wait_for_each_other(place: Place) -> None:
    shared = place.transactions()
    order: list[str] = []
    inside = threading.Event()

    def other() -> None:
        inside.wait(30)
        with shared.lock_tree():
            order.append("other")

    thread = threading.Thread(target=other)
    thread.start()
    with shared.lock_tree():
        inside.set()
        order.append("first in")
        shared.commit([place.write("cart.py", b"1")])
        order.append("first out")
    thread.join(30)
    assert order == ["first in", "first out", "other"]
