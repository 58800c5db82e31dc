"""Record a stream in bounded memory: its head, its tail, and all of it, redacted, in a file once it overflows."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.fs.private_files import create_private_folder
from sandbox.process.command import Capture

if TYPE_CHECKING:
    from sandbox.secrets.redaction import Redactor

HEAD = 32 << 10
TAIL = 32 << 10
"""Together as much as a person or a model would still read; an ordinary test run fits without a file."""

SPILL_LIMIT = 32 << 20
"""A runaway command must not fill the disk; no reader pages through more."""

_PIECE = 64 << 10
"""Bytes that are redacted together: small writes would be searched many times over, large ones hold up the loop."""


class Recorder:
    """Recorder of the chunks of one stream.

    folder: where the whole stream is written, with secrets redacted, once head and tail overflow; None to keep only
        those two
    limit: bytes of that file; 0 for the default
    head: bytes of the beginning that are kept in memory; 0 for the default
    """

    def __init__(self, folder: Path | None, limit: int = 0, head: int = 0) -> None:
        self._folder = folder
        self._most_head = head or HEAD
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._spill: _Spill | None = None
        self._limit = limit or SPILL_LIMIT
        self._note = ""

    def feed(self, chunk: bytes) -> None:
        """Append the next bytes of the stream."""
        if self._spill is not None:
            self._write(self._spill, chunk)
        elif self._folder and not self._note and self._total + len(chunk) > self._most_head + TAIL:
            self._open_spill(self._folder, chunk)
        self._total += len(chunk)
        missing = self._most_head - len(self._head)
        if missing > 0:
            self._head += chunk[:missing]
            chunk = chunk[missing:]
        self._tail += chunk
        if len(self._tail) > 2 * TAIL:
            del self._tail[:-TAIL]

    def finish(self) -> Capture:
        """Close the file and return the capture."""
        path = None
        if self._spill is not None:
            try:
                path = self._spill.finish()
            except OSError as error:
                self._discard_spill(error)
        return Capture(
            head=bytes(self._head),
            tail=bytes(self._tail[-TAIL:]),
            total=self._total,
            spill=path,
            note=self._note,
        )

    def discard(self) -> None:
        """Close and remove the file: nobody will read it."""
        if self._spill is not None:
            self._spill.discard()
            self._spill = None

    def _open_spill(self, folder: Path, chunk: bytes) -> None:
        try:
            self._spill = _Spill(folder, self._limit)
        except OSError as error:  # full, read-only, not accessible: the command's result matters more
            self._discard_spill(error)
            return
        self._write(self._spill, bytes(self._head + self._tail) + chunk)

    def _write(self, spill: _Spill, chunk: bytes) -> None:
        try:
            spill.add(chunk)
        except OSError as error:
            self._discard_spill(error)
            return
        if spill.is_full:
            self._note = f"only the first {self._limit >> 20} MiB of the output were kept"

    def _discard_spill(self, error: OSError) -> None:
        """Drop the file and free its space: on a full disk the session log needs it more."""
        self.discard()
        self._note = f"the whole output could not be kept: {error.strerror}"


class _Spill:
    """The file of a stream. No secret is ever written to it, and where the system allows it has no name before it is
    complete: a killed process leaves nothing behind. Its methods raise OSError."""

    def __init__(self, folder: Path, limit: int) -> None:
        from sandbox.secrets.redaction import Redactor

        create_private_folder(folder)
        self.is_full = False
        self._path = folder / f"{SPILL_PREFIX}{os.getpid()}-{next(_NUMBERS)}"
        self._room = limit
        self._pending = bytearray()
        self._decode: Callable[[bytes, bool], str] = codecs.getincrementaldecoder("utf-8")(
            "surrogateescape"
        ).decode
        self._redactor: Redactor = Redactor()
        self._is_named = False
        flags = os.O_WRONLY | os.O_CLOEXEC
        try:
            self._descriptor = os.open(folder, flags | os.O_TMPFILE, 0o600)
        except (AttributeError, OSError):  # not Linux, or a file system without such files
            self._descriptor = os.open(self._path, flags | os.O_CREAT | os.O_EXCL, 0o600)
            self._is_named = True

    def add(self, chunk: bytes) -> None:
        """Append bytes of the stream; those beyond the limit are left out."""
        if self.is_full:
            return
        kept = chunk[: self._room]
        self._room -= len(kept)
        self._pending += kept
        self.is_full = not self._room
        if len(self._pending) >= _PIECE or self.is_full:
            self._write_pending(last=self.is_full)

    def finish(self) -> Path:
        """Complete the file and return its path. Safe to call twice."""
        if self._descriptor >= 0:
            if not self.is_full:
                self._write_pending(last=True)
            if not self._is_named:
                _name_file(self._descriptor, self._path)
                self._is_named = True
            self._close()
        return self._path

    def discard(self) -> None:
        """Remove the file."""
        self._close()
        if self._is_named:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _write_pending(self, *, last: bool) -> None:
        """Redact what has arrived and write what can be no part of a secret that goes on."""
        text = self._redactor.feed(self._decode(bytes(self._pending), last))
        self._pending.clear()
        if last:
            text += self._redactor.close()
        content = memoryview(text.encode("utf-8", "surrogateescape"))
        while content:
            content = content[os.write(self._descriptor, content) :]

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def remove_abandoned_spills(folder: Path) -> None:
    """Remove the files of streams that a killed process left in a folder that only this process uses."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(SPILL_PREFIX):
                with suppress(OSError):
                    Path(entry.path).unlink()


def _name_file(descriptor: int, path: Path) -> None:
    """Give a file without a name one."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:  # only with a folder's handle does Python follow the link to the open file
        os.link(f"/proc/self/fd/{descriptor}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


SPILL_PREFIX = "spill-"

_NUMBERS = count(1)
