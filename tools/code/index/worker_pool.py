"""Pool of worker processes that parse texts in parallel, one per processor. Few files need no worker."""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from sandbox.helpers.helper_confinement import Reach, start_confined
from sandbox.helpers.own_programs import drop_planted_libraries
from tools.code.index.parse_worker import LENGTH, Task, build_empty_segment, read_segment
from tools.code.index.segment_format import PackedText, Segment

ALONE = 400_000
"""Bytes of text that this process parses by itself: starting workers would take longer."""

CHUNK = 1_500_000
"""Bytes of text in a chunk: a second of work."""

LEAST = 300_000
"""Bytes in one of the last chunks, which are smaller, so that no worker waits long for another."""

MOST_FILES = 400
"""Files in a chunk."""

MOST_WORKERS = 8

_START = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from tools.code.index.parse_worker import main; main(sys.stdin.buffer, sys.stdout.buffer)"
)


def read_segments(root: str, tasks: Sequence[tuple[Task, int]]) -> Iterator[Segment]:
    """Parse texts, given with their sizes in bytes; the segments arrive in any order."""
    count = min(MOST_WORKERS, count_processors())
    chunks = deque(_split_chunks(tasks, count))
    if sum(size for _, size in tasks) <= ALONE:
        for chunk in chunks:
            yield read_segment(root, chunk)
        return
    count = min(len(chunks), count)
    done: SimpleQueue[Segment | Exception | None] = SimpleQueue()
    lock = Lock()
    crew = [_Worker(root, chunks, lock, done) for _ in range(count)]
    try:
        for each in crew:
            each.start()
        left = len(crew)
        while left:
            result = done.get()
            if result is None:
                left -= 1
            elif isinstance(result, Exception):
                raise result
            else:
                yield result
    finally:
        chunks.clear()
        for each in crew:
            each.stop()


def count_processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _split_chunks(tasks: Sequence[tuple[Task, int]], workers: int) -> Iterator[list[Task]]:
    """Split work into chunks of half the remaining work per worker, within limits (guided self-scheduling:
    Polychronopoulos and Kuck 1987).
    """
    chunk: list[Task] = []
    total, left = 0, sum(size for _, size in tasks)
    for task, size in tasks:
        most = min(CHUNK, max(LEAST, left // (2 * workers)))
        if chunk and (total + size > most or len(chunk) >= MOST_FILES):
            yield chunk
            left -= total
            chunk, total = [], 0
        chunk.append(task)
        total += size
    if chunk:
        yield chunk


class _Worker(Thread):
    """Thread that feeds one worker process; restarts a crashed one with each half of the chunk."""

    def __init__(
        self,
        root: str,
        chunks: deque[list[Task]],
        lock: Lock,
        done: SimpleQueue[Segment | Exception | None],
    ) -> None:
        super().__init__(daemon=True)
        self._root = root
        self._chunks = chunks
        self._lock = lock
        self._done = done
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self) -> None:
        try:
            while (chunk := self._take_chunk()) is not None:
                self._done.put(self._read_chunk(chunk))
        except Exception as error:  # passed to the waiting thread, which raises it
            self._done.put(error)
        finally:
            self._end_process()
            self._done.put(None)

    def stop(self) -> None:
        """End the process and wait for the thread; called from another thread."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()
        self.join()

    def _end_process(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            _close_process(process)

    def _take_chunk(self) -> list[Task] | None:
        with self._lock:
            return self._chunks.popleft() if self._chunks else None

    def _read_chunk(self, chunk: list[Task]) -> Segment:
        reply = self._request_segment(chunk)
        if reply is not None:
            return _SegmentReader(io.BytesIO(reply)).read_segment()
        self._end_process()
        if len(chunk) == 1 or self._stopped:
            return build_empty_segment(chunk)
        half = len(chunk) // 2
        first, second = self._read_chunk(chunk[:half]), self._read_chunk(chunk[half:])
        return _merge_segments(first, second)

    def _request_segment(self, chunk: list[Task]) -> bytes | None:
        """Return the worker's reply; None if it crashed."""
        with self._lock:
            if self._stopped:
                return None
            if self._process is None:
                self._process = _start_process(self._root)
            process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps([self._root, chunk]).encode() + b"\n")
            process.stdin.flush()
            head = process.stdout.read(LENGTH.size)
            if len(head) < LENGTH.size:
                return None
            [length] = LENGTH.unpack(head)
            reply = process.stdout.read(length)
        except (OSError, ValueError):  # it crashed, or was stopped meanwhile
            return None
        return reply if len(reply) == length else None


class _SegmentReader(pickle.Unpickler):
    """Reader of a worker's reply. The worker parses untrusted files, so nothing but a segment is made of it."""

    def find_class(self, module: str, name: str) -> Any:
        for each in (Segment, PackedText):
            if (module, name) == (each.__module__, each.__qualname__):
                return each
        raise pickle.UnpicklingError(f"a worker's reply holds a {module}.{name}")

    def read_segment(self) -> Segment:
        """Return the segment. Raises UnpicklingError for anything else."""
        found = self.load()
        if not isinstance(found, Segment):
            raise pickle.UnpicklingError("a worker's reply is no segment")
        return found


def _merge_segments(first: Segment, second: Segment) -> Segment:
    merged = dict(first.postings)
    for term, data in second.postings:
        merged[term] = merged.get(term, b"") + data
    return Segment(texts=[*first.texts, *second.texts], postings=sorted(merged.items()))


def _start_process(root: str) -> subprocess.Popen[bytes]:
    """Start a worker that reads the workspace and our own code, and writes nothing.

    -I, -S: neither the environment, the current folder nor installed packages add to the import path.
    """
    floors = str(Path(__file__).resolve().parents[3])
    folders = [each for each in sys.path if os.path.isabs(each)]  # noqa: PTH117 (strings)
    environment = drop_planted_libraries(os.environ, Path(root))
    reach = Reach(
        programs=(sys.executable,),
        readable=tuple(map(os.path.realpath, (root, sys.prefix, sys.base_prefix, floors, *folders))),
    )

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, floors, *folders],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )

    return start_confined(reach, start)


def _close_process(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:  # discard unsent data
                continue
