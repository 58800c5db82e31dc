"""Many at once: whoever reads and writes inside `lock_tree()` loses nothing and sees nothing half done."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sandbox.fs.text_file import compute_fingerprint
from sandbox.fs.transaction.transactions import Conflict, Write
from tests.sandbox.trees import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

STRESS = int(os.environ.get("PATCHWRIGHT_STRESS", "1"))
PROCESSES, THREADS, TURNS = 3, 3, 8 * STRESS

WORKER = """
import sys, threading
from pathlib import Path
from sandbox.fs.text_file import compute_fingerprint
from sandbox.fs.transaction.transactions import Write
from tests.sandbox.trees import Place

place = Place(root=Path(sys.argv[1]), journal=Path(sys.argv[2]))
shared = place.transactions()

def work(name):
    # Half of the threads share an object, the others have one each.
    mine = shared if name.endswith("0") else place.transactions()
    for turn in range(int(sys.argv[4])):
        with mine.lock_tree() as recovery:
            assert recovery is None, recovery
            counts = {path: (place.root / path).read_bytes() for path in ("count", "deep/count")}
            log = (place.root / "log").read_bytes()
            assert len(set(counts.values())) == 1, counts
            number = int(counts["count"])
            assert log.count(b"\\n") == number, "half of an edit is seen"
            changes = [
                Write(path=path, content=b"%d" % (number + 1), before=compute_fingerprint(old))
                for path, old in counts.items()
            ]
            line = f"{name} {turn}\\n".encode()
            mine.commit([*changes, Write(path="log", content=log + line, before=compute_fingerprint(log))])

threads = [threading.Thread(target=work, args=(f"{sys.argv[3]}.{n}",)) for n in range(int(sys.argv[5]))]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_processes_and_threads_lose_no_edit_of_one_another(tmp_path: Path) -> None:
    place = Place.make(tmp_path, {"count": b"0", "deep/count": b"0", "log": b""})
    here = Path(__file__).parents[4]
    command = [sys.executable, "-c", WORKER, str(place.root), str(place.journal)]
    workers = [
        subprocess.Popen(
            [*command, str(number), str(TURNS), str(THREADS)], cwd=here, stderr=subprocess.PIPE, text=True
        )
        for number in range(PROCESSES)
    ]
    errors = [worker.communicate()[1] for worker in workers]
    assert errors == [""] * PROCESSES
    total = PROCESSES * THREADS * TURNS
    assert (place.root / "count").read_bytes() == b"%d" % total
    assert (place.root / "deep/count").read_bytes() == b"%d" % total
    lines = (place.root / "log").read_text().splitlines()
    expected = [f"{p}.{t} {turn}" for p in range(PROCESSES) for t in range(THREADS) for turn in range(TURNS)]
    assert sorted(lines) == sorted(expected)
    assert place.records() == []
    assert sorted(place.image()) == ["count", "deep", "deep/count", "log"]


def test_a_writer_that_asks_nobody_is_noticed_and_loses_nothing(tmp_path: Path) -> None:
    """An editor saves a file again and again; every edit of ours is either made on what it saved or refused."""
    place = Place.make(tmp_path, {"a": b"", "theirs": b"0"})
    stop = threading.Event()
    saved = [0]

    def editor() -> None:
        while not stop.wait(0.002):
            saved[0] += 1
            (tmp_path / "draft").write_bytes(b"%d" % saved[0])
            (tmp_path / "draft").rename(place.root / "theirs")

    thread = threading.Thread(target=editor)
    thread.start()
    refused: list[Conflict] = []
    try:
        transactions = place.transactions()
        for number in range(60 * STRESS):
            before, a = (place.root / "theirs").read_bytes(), (place.root / "a").read_bytes()
            changes = [
                Write(path="a", content=b"%d" % number, before=compute_fingerprint(a)),
                Write(path="theirs", content=before + b" and ours", before=compute_fingerprint(before)),
            ]
            with transactions.lock_tree():
                try:
                    transactions.commit(changes)
                except Conflict as conflict:
                    refused.append(conflict)
                    partly = any(name.startswith("theirs.patchwright-") for name in os.listdir(place.root))
                    assert partly or (place.root / "a").read_bytes() == a
                    for kept in place.root.glob("theirs.patchwright-*"):
                        assert kept.read_bytes() == before + b" and ours"
                        kept.unlink()
    finally:
        stop.set()
        thread.join()
    assert {conflict.paths for conflict in refused} == {("theirs",)}
    assert place.records() == []
    assert sorted(os.listdir(place.root)) == ["a", "theirs"]
