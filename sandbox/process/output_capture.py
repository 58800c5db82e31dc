"""Record a stream in bounded memory: its head, its tail, and all of it in a file once it overflows."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

from sandbox.fs.private_files import create_private_folder
from sandbox.process.command import Capture

HEAD = 32 << 10
TAIL = 32 << 10
"""Together as much as a person or a model would still read; an ordinary test run fits without a file."""

SPILL_LIMIT = 256 << 20
"""A runaway command must not fill the disk; no reader pages through more."""


class Recorder:
    """Recorder of the chunks of one stream.

    folder: where the whole stream is written once head and tail overflow; None to keep only those two
    limit: bytes of that file; 0 for the default
    """

    def __init__(self, folder: Path | None, limit: int = 0) -> None:
        self._folder = folder
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._spill: Path | None = None
        self._descriptor = -1
        self._room = self._limit = limit or SPILL_LIMIT
        self._note = ""

    def feed(self, chunk: bytes) -> None:
        """Append the next bytes of the stream."""
        if self._total + len(chunk) > HEAD + TAIL and self._folder and not self._spill and not self._note:
            self._open_spill(self._folder)
        self._total += len(chunk)
        self._write(chunk)
        missing = HEAD - len(self._head)
        if missing > 0:
            self._head += chunk[:missing]
            chunk = chunk[missing:]
        self._tail += chunk
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]

    def finish(self) -> Capture:
        """Close the file and return the capture."""
        self._close()
        return Capture(
            head=bytes(self._head),
            tail=bytes(self._tail[-TAIL:]),
            total=self._total,
            spill=self._spill,
            note=self._note,
        )

    def _open_spill(self, folder: Path) -> None:
        try:
            create_private_folder(folder)
            path = folder / f"spill-{os.getpid()}-{next(_NUMBERS)}"
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:  # full, read-only, not accessible: the command's result matters more
            self._discard_spill(error)
            return
        self._spill = path
        self._write(bytes(self._head + self._tail))

    def _write(self, chunk: bytes) -> None:
        if self._descriptor < 0:
            return
        kept = memoryview(chunk)[: self._room]
        self._room -= len(kept)
        try:
            while kept:
                kept = kept[os.write(self._descriptor, kept) :]
        except OSError as error:
            self._discard_spill(error)
            return
        if not self._room:
            self._note = f"only the first {self._limit >> 20} MiB of the output were kept"
            self._close()

    def _discard_spill(self, error: OSError) -> None:
        """Drop the file and free its space: on a full disk the session log needs it more."""
        self._close()
        self._note = f"the whole output could not be kept: {error.strerror}"
        if self._spill:
            self._spill.unlink(missing_ok=True)
            self._spill = None

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


_NUMBERS = count(1)
