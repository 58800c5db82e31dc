"""What a killed edit left is finished or undone by whoever comes next, never at the cost of others' work."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from sandbox.errors import UserError
from sandbox.fs.text_file import compute_fingerprint
from sandbox.fs.transaction.transactions import Recovery
from tests.sandbox.trees import Place
from tests.support.tracing import forked

MARK = 1
"""Renames of an edit: of the intent, of the mark, then one for each file."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.make(tmp_path, {"a.py": b"a\n", "b.py": b"b\n", "src/c.py": b"c\n", "old.py": b"old\n"})


def die(place: Place, *, renames: int) -> None:
    """An edit whose process dies when it has renamed so many times."""
    changes = (
        place.write("a.py", b"new a\n"),
        place.write("b.py", b"new b\n"),
        place.write("src/c.py", b"new c\n"),
        place.write("made/deep/d.py", b"new d\n"),
        place.remove("old.py"),
    )
    rename, left = os.rename, [renames]

    def dying(old: str, new: str, **folders: int) -> None:
        if not left[0]:
            os._exit(0)
        left[0] -= 1
        rename(old, new, **folders)

    def work() -> None:
        os.rename = dying  # type: ignore[assignment]
        place.commit(*changes)

    forked(work)


def files(place: Place) -> dict[str, bytes]:
    return {path: content for path, (mode, content) in place.image().items() if stat.S_ISREG(mode)}


OLD = {"a.py": b"a\n", "b.py": b"b\n", "src/c.py": b"c\n", "old.py": b"old\n"}
NEW = {"a.py": b"new a\n", "b.py": b"new b\n", "src/c.py": b"new c\n", "made/deep/d.py": b"new d\n"}
PATHS = ("a.py", "b.py", "src/c.py", "made/deep/d.py", "old.py")


def test_who_next_asks_for_the_tree_undoes_what_was_not_decided(place: Place) -> None:
    before = place.image()
    die(place, renames=MARK)
    assert len(files(place)) == 8, "there is something to undo"
    with place.transactions().lock_tree() as recovery:
        assert place.image() == before
    assert recovery == Recovery(outcome="undone", paths=PATHS)
    assert str(recovery) == "an interrupted edit of 5 files was undone"
    assert place.transactions().recover() is None


@pytest.mark.parametrize("done", range(5))
def test_who_next_asks_for_the_tree_finishes_what_was_decided(place: Place, done: int) -> None:
    die(place, renames=MARK + 1 + done)
    with place.transactions().lock_tree() as recovery:
        assert files(place) == NEW
    assert recovery in (Recovery(outcome="finished", paths=PATHS), None)
    assert (recovery is None) == (done == 4)
    assert place.records() == []


def test_a_file_that_somebody_changed_meanwhile_is_not_overwritten(place: Place) -> None:
    die(place, renames=MARK + 2)
    (place.root / "b.py").write_bytes(b"mine\n")
    (place.root / "old.py").write_bytes(b"mine\n")
    (place.root / "src/c.py").unlink()
    recovery = place.transactions().recover()
    assert recovery is not None
    assert [(left.path, left.reason) for left in recovery.left] == [
        ("b.py", "was changed by somebody else"),
        ("src/c.py", "was changed by somebody else"),
        ("old.py", "was not removed: it was changed by somebody else"),
    ]
    kept = [left.kept for left in recovery.left]
    assert files(place) == {
        "a.py": b"new a\n",
        "b.py": b"mine\n",
        "old.py": b"mine\n",
        "made/deep/d.py": b"new d\n",
        kept[0]: b"new b\n",
        kept[1]: b"new c\n",
    }
    assert f"its new content is in {kept[0]!r}" in str(recovery)
    assert place.records() == []
    place.commit(place.write("b.py", b"go on\n"))


def test_what_somebody_changed_meanwhile_stays_when_the_edit_is_undone(place: Place) -> None:
    die(place, renames=MARK)
    (place.root / "b.py").write_bytes(b"mine\n")
    (place.root / "made/mine.py").write_bytes(b"mine\n")
    recovery = place.transactions().recover()
    assert recovery == Recovery(outcome="undone", paths=PATHS)
    assert files(place) == {**OLD, "b.py": b"mine\n", "made/mine.py": b"mine\n"}
    assert not (place.root / "made/deep").exists()


def test_new_contents_that_are_gone_are_told_and_the_old_files_stay(place: Place) -> None:
    die(place, renames=MARK + 1)
    for leftover in place.root.rglob(".patchwright-*"):
        leftover.unlink()
    recovery = place.transactions().recover()
    assert recovery is not None
    assert [left.path for left in recovery.left] == ["a.py", "b.py", "src/c.py", "made/deep/d.py", "old.py"]
    assert files(place) == OLD
    assert place.records() == []


@pytest.mark.parametrize("renames", [MARK, MARK + 1])
def test_a_folder_that_became_a_link_is_not_followed(place: Place, tmp_path: Path, renames: int) -> None:
    die(place, renames=renames)
    (place.root / "src").rename(tmp_path / "moved")
    (place.root / "src").symlink_to(tmp_path / "moved")
    outside = {path.name: path.read_bytes() for path in (tmp_path / "moved").iterdir()}
    recovery = place.transactions().recover()
    assert recovery is not None
    assert [left.path for left in recovery.left] == ["src/c.py"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "moved").iterdir()} == outside
    assert place.records() == []


def sealed(body: object) -> bytes:
    raw = json.dumps(body).encode()
    return compute_fingerprint(raw).encode() + b"\n" + raw


@pytest.mark.parametrize("stage", ["intent", "commit"])
@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"\0" * 4096,
        b"no record",
        sealed({"steps": [["a.py"]], "folders": []}),
        sealed({"what": "is this"}),
        sealed(["of another version"]),
        compute_fingerprint(b"\xff").encode() + b"\n\xff",
    ],
    ids=["empty", "zeros", "text", "short", "fields", "list", "bytes"],
)
def test_a_damaged_record_is_put_aside_and_told(place: Place, stage: str, record: bytes) -> None:
    place.transactions().recover()
    (place.journal / stage).write_bytes(record)
    recovery = place.transactions().recover()
    assert recovery is not None
    assert recovery.outcome == "abandoned"
    (aside,) = place.records()
    assert str(place.journal / aside) in str(recovery)
    assert (place.journal / aside).read_bytes() == record
    assert files(place) == OLD
    assert place.transactions().recover() is None
    place.commit(place.write("a.py", b"go on\n"), place.remove("b.py"))


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_record_that_was_cut_short_is_put_aside(place: Place, cut: int) -> None:
    die(place, renames=MARK + 1)
    record = place.journal / "commit"
    record.write_bytes(record.read_bytes()[:-cut])
    recovery = place.transactions().recover()
    assert recovery is not None
    assert recovery.outcome == "abandoned"
    assert {path: files(place)[path] for path in OLD} == OLD


def test_a_record_in_which_a_byte_was_flipped_is_not_acted_upon(place: Place) -> None:
    die(place, renames=MARK + 1)
    record = place.journal / "commit"
    record.write_bytes(record.read_bytes().replace(b'"old.py"', b'"olf.py"'))
    recovery = place.transactions().recover()
    assert recovery is not None
    assert recovery.outcome == "abandoned"


def test_a_folder_in_place_of_the_record_is_put_aside(place: Place) -> None:
    place.transactions().recover()
    (place.journal / "commit").mkdir()
    assert "abandoned" in repr(place.transactions().recover())
    assert place.transactions().recover() is None


def test_a_tree_that_vanished_is_told(place: Place) -> None:
    die(place, renames=MARK + 1)
    transactions = place.transactions()
    shutil.rmtree(place.root)
    recovery = transactions.recover()
    assert recovery is not None
    assert recovery.outcome == "abandoned"
    assert f"there is no folder {place.root}" in str(recovery)
    assert transactions.recover() is None


def test_a_folder_without_permission_does_not_block_for_ever(place: Place) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    die(place, renames=MARK + 1)
    (place.root / "src").chmod(0o555)
    recovery = place.transactions().recover()
    (place.root / "src").chmod(0o755)
    assert recovery is not None
    assert [left.path for left in recovery.left] == ["src/c.py"]
    assert (place.root / recovery.left[0].kept).read_bytes() == b"new c\n"
    assert {path: files(place)[path] for path in NEW} == {**NEW, "src/c.py": b"c\n"}


def test_a_journal_that_cannot_be_written_is_one_clear_line(place: Place) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    place.journal.parent.chmod(0o555)
    try:
        with pytest.raises(UserError, match="no permission"):
            place.transactions().recover()
    finally:
        place.journal.parent.chmod(0o755)
