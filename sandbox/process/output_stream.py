"""A pipe from a command, read as data arrives, never blocking."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from sandbox.process.command import Capture
from sandbox.process.output_capture import Recorder

OnOutput = Callable[[bytes], None]

READ_SIZE = 64 << 10
"""The capacity of a pipe on Linux: one read empties it."""

_PIPE_READS = 64
"""64 x READ_SIZE: more than the largest pipe an ordinary process may make (1 MiB)."""


class Stream:
    """One pipe from the child; closed with `stack` at the latest."""

    def __init__(
        self, spill: Path | None, on_output: OnOutput | None, stack: ExitStack, head: int = 0
    ) -> None:
        import asyncio

        self._recorder = Recorder(spill, head=head)
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._loop.add_reader(self._read_end, self._on_readable)
        stack.callback(self._abandon)

    def close_write_end(self) -> None:
        """Close our copy once the child has its own: otherwise the end of the stream would never be seen."""
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def finish(self) -> Capture:
        """Read the rest of the pipe (at most a pipe's worth: a survivor could write for ever) and close it."""
        for _ in range(_PIPE_READS):
            if not self._read():
                break
        self._close()
        return self._recorder.finish()

    def _abandon(self) -> None:
        """Close without a result, as on interruption: no output is kept on disk."""
        if self._read_end >= 0:
            self._close()
            self._recorder.discard()

    def _on_readable(self) -> None:
        if self._read() == b"":
            self._loop.remove_reader(self._read_end)

    def _read(self) -> bytes | None:
        """Return the next bytes, b"" at the end of the stream, None if there are none yet."""
        try:
            chunk = os.read(self._read_end, READ_SIZE)
        except BlockingIOError:
            return None
        if chunk:
            self._recorder.feed(chunk)
            if self._on_output:
                self._on_output(chunk)
        return chunk

    def _close(self) -> None:
        self.close_write_end()
        if self._read_end >= 0:
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = -1
