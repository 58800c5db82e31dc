"""The recorder keeps head, tail and the whole, in bounded memory, and never loses a result to its own file."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.process import output_capture
from sandbox.process.output_capture import HEAD, TAIL, Recorder


@pytest.mark.slow
@given(st.lists(st.integers(0, 3 * TAIL), max_size=8))
def test_head_and_tail_are_those_of_the_stream_however_it_is_cut(sizes: list[int]) -> None:
    recorder = Recorder(None)
    whole = b""
    for number, size in enumerate(sizes):
        chunk = bytes((number + i) % 251 for i in range(size))
        recorder.feed(chunk)
        whole += chunk
    kept = recorder.finish()
    assert kept.total == len(whole)
    assert kept.head == whole[:HEAD]
    assert kept.tail == whole[max(HEAD, len(whole) - TAIL) :]
    assert kept.spill is None


def test_an_output_that_fits_makes_no_file(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "spill")
    recorder.feed(b"x" * (HEAD + TAIL))
    kept = recorder.finish()
    assert (kept.omitted_bytes, kept.spill, kept.note) == (0, None, "")
    assert not (tmp_path / "spill").exists()


def test_one_byte_more_spills_the_whole_to_a_private_file(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "spill")
    whole = bytes(range(256)) * ((HEAD + TAIL) // 256) + b"!"
    recorder.feed(whole[:100])
    recorder.feed(whole[100:])
    kept = recorder.finish()
    assert kept.omitted_bytes == 1
    assert kept.spill is not None
    assert kept.spill.read_bytes() == whole
    assert kept.spill.stat().st_mode & 0o777 == 0o600
    assert "[… 1 bytes cut …]" in kept.text()


def test_the_file_stops_growing_at_its_limit_and_the_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_capture, "SPILL_LIMIT", 1 << 20)
    recorder = Recorder(tmp_path)
    for _ in range(40):
        recorder.feed(b"x" * 65536)
    kept = recorder.finish()
    assert kept.spill is not None
    assert kept.spill.stat().st_size == 1 << 20
    assert kept.total == 40 * 65536
    assert kept.note == "only the first 1 MiB of the output were kept"


KEY = b"ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7"


@pytest.mark.parametrize("size", [1, 17, 4096, 65536, 1 << 20])
def test_no_secret_reaches_the_file_however_the_stream_is_cut(tmp_path: Path, size: int) -> None:
    line = b"step 12 of 400\xff " + KEY + b" done\r\n"
    whole = b"x" * (HEAD + TAIL) + line * 40
    recorder = Recorder(tmp_path)
    recorder.feed(whole[: HEAD + TAIL])
    for at in range(HEAD + TAIL, len(whole), size):
        recorder.feed(whole[at : at + size])
    kept = recorder.finish()
    assert kept.spill is not None
    # The first key is glued to the filling: it takes the whole word with it.
    assert kept.spill.read_bytes() == whole.replace(KEY, b"[redacted]")
    assert kept.tail.endswith(KEY + b" done\r\n")  # in memory the stream is exact


def test_an_unfinished_file_has_no_name(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "spill")
    recorder.feed(b"y\n" * (1 << 20))
    assert list((tmp_path / "spill").iterdir()) == []  # where the file system has such files, as here
    kept = recorder.finish()
    assert list((tmp_path / "spill").iterdir()) == [kept.spill]
    assert recorder.finish().spill == kept.spill
    recorder.discard()
    assert list((tmp_path / "spill").iterdir()) == []


def test_where_every_file_has_a_name_only_redacted_text_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(output_capture.os, "O_TMPFILE")
    recorder = Recorder(tmp_path / "spill")
    recorder.feed((b"line " + KEY + b"\n") * 4000)
    (left,) = (tmp_path / "spill").iterdir()
    assert KEY not in left.read_bytes()
    output_capture.remove_abandoned_spills(tmp_path / "spill")
    assert list((tmp_path / "spill").iterdir()) == []


def test_data_for_us_is_kept_exactly_and_in_memory(tmp_path: Path) -> None:
    recorder = Recorder(None, head=1 << 20)
    whole = KEY * 8000
    recorder.feed(whole)
    kept = recorder.finish()
    assert (kept.head + kept.tail, kept.spill) == (whole, None)


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """The kernel refuses the write, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_disk_that_is_full_costs_the_file_and_not_the_result(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "spill")
    with no_file_larger_than(100_000):
        for number in range(10):
            recorder.feed(bytes([number]) * 65536)
        kept = recorder.finish()
    assert (kept.head[:1], kept.tail[-1:], kept.total) == (b"\0", b"\x09", 655360)
    assert kept.spill is None
    assert kept.note == "the whole output could not be kept: File too large"
    assert list((tmp_path / "spill").iterdir()) == []  # the space is given back


def test_a_folder_that_cannot_be_made_costs_the_file_and_not_the_result(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    recorder = Recorder(tmp_path / "file" / "spill")
    recorder.feed(b"x" * (HEAD + TAIL + 1))
    kept = recorder.finish()
    assert kept.total == HEAD + TAIL + 1
    assert kept.note.startswith("the whole output could not be kept: ")
