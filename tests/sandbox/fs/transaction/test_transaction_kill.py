"""kill -9 between any two system calls of an edit of 20 files, and of its recovery: all of it, or nothing."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from sandbox.fs.transaction.transactions import Remove, Write
from tests.sandbox.trees import Image, Place
from tests.support.tracing import killed_before

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))
SEED = int(os.environ.get("PATCHWRIGHT_SEED", "20261121"))

# Of about a thousand system calls every so many-th: where to begin is drawn. Under stress each of them.
EVERY = 37 if STRESS == 1 else 1

OLD = {f"old/{name}.py": f"{name} = 1\n".encode() * 50 for name in "abcdefghijklmn"}


def twenty(place: Place) -> list[Write | Remove]:
    """Ten files get new content, six are made, five of them in new folders, four are removed."""
    names = sorted(OLD)
    return [
        *(place.write(name, b"changed\n" * number, 0o755 if number == 3 else None)
          for number, name in enumerate(names[:10])),
        *(place.write(f"new/{name}", b"made\n") for name in ("x.py", "deep/y.py", "deep/z.py", "deep/er/w.py")),
        place.write("another/v.py", b""),
        place.write("old/u.py", b"made\n"),
        *(place.remove(name) for name in names[10:]),
    ]  # fmt: skip


def expected(folder: Path) -> tuple[Image, Image]:
    place = Place.make(folder, OLD)
    before = place.image()
    place.commit(*twenty(place))
    return before, place.image()


def test_a_kill_anywhere_leaves_all_or_nothing(tmp_path: Path) -> None:
    before, after = expected(tmp_path / "model")
    assert len(twenty(Place.make(tmp_path / "count", OLD))) == 20
    ends = {"old": 0, "new": 0}
    call = random.Random(SEED).randrange(EVERY)
    while True:
        folder = tmp_path / "run"
        place = Place.make(folder, OLD)
        changes = twenty(place)
        reached = killed_before(call, lambda place=place, changes=changes: place.commit(*changes))
        recovery = place.transactions().recover()
        found = place.image()
        assert found in (before, after), f"killed before system call {call}"
        assert place.records() == []
        assert recovery is None or not recovery.left
        assert recovery is None or (recovery.outcome == "finished") == (found == after)
        assert place.transactions().recover() is None
        shutil.rmtree(folder)
        ends["new" if found == after else "old"] += 1
        if reached < call:  # it had ended before
            break
        call += EVERY
    assert ends["old"] > 10, ends
    assert ends["new"] > 3, ends


def test_a_kill_during_the_recovery_leaves_all_or_nothing(tmp_path: Path) -> None:
    before, after = expected(tmp_path / "model")
    place = Place.make(tmp_path / "count", OLD)
    calls = killed_before(None, lambda: place.commit(*twenty(place)))
    draw = random.Random(SEED)
    hit = 0
    for number in range(25 * STRESS):
        folder = tmp_path / "run"
        place = Place.make(folder, OLD)
        changes = twenty(place)
        killed_before(draw.randrange(calls), lambda place=place, changes=changes: place.commit(*changes))
        was = place.records()
        for _ in range(3):  # several recoveries in a row come to nothing
            at = draw.randrange(10, 200)
            hit += killed_before(at, lambda place=place: place.transactions().recover()) == at
        place.transactions().recover()
        found = place.image()
        assert found in (before, after), (number, was)
        assert (found == after) or was != ["commit"], "what was decided is done"
        assert place.records() == []
        shutil.rmtree(folder)
    assert hit > 5, "most recoveries have to be hit to prove anything"


def test_a_kill_during_one_change_leaves_it_made_or_not(tmp_path: Path) -> None:
    ends = set()
    for call in range(0, 400, max(EVERY // 12, 1)):
        place = Place.make(tmp_path / str(call), {"a.py": b"old\n"})
        change = place.write("a.py", b"new\n") if call % 2 else place.write("deep/er/b.py", b"new\n")
        before = place.image()
        reached = killed_before(call, lambda place=place, change=change: place.commit(change))
        recovery = place.transactions().recover()
        there = place.root / change.path
        done = there.exists() and there.read_bytes() == b"new\n"
        assert done or place.image() == before
        assert recovery is None or (recovery.outcome == "finished") == done
        assert not [name for name in place.image() if name.endswith(".tmp")]
        assert place.records() == []
        ends.add(done)
        if reached < call:
            break
    assert ends == {True, False}
