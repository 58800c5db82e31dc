"""A program in the sandbox that serves the session over its standard streams: started, ended, its streams ours."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from sandbox.errors import UserError
from sandbox.fs.private_files import create_private_folder
from sandbox.policy.decision import Mode
from sandbox.process.command import Command, Completed
from sandbox.process.command_line import CommandLine
from sandbox.secrets.redaction import redact
from tools.core.surroundings import Surroundings

FOREVER = 10.0 * 365 * 86_400
"""Seconds: a server lives as long as its session; its requests have limits of their own."""

MOST_UNREAD = 32 << 20
"""Bytes that wait for the server to read them: one that only asks would fill our memory with the answers."""

MOST_ERRORS = 4_096
"""Bytes of the program's standard error that are kept, its last ones."""

MOST_SHOWN = 300
"""Characters of them in a reason, of the last three lines."""

ERROR_SECONDS = 0.3
"""Time for the last errors of a program that has ended; processes that it left behind may hold the pipe."""

_JOIN = 'exec "$@" </dev/fd/{read} >/dev/fd/{write} 2>/dev/fd/{errors}'
"""Servers use their standard streams; the inherited pipes keep their own descriptor numbers. (Numbers of two
digits cannot be given to `<&` in every shell.)
"""

_ENTER = 'cd "$1" && shift && exec "$@"'
"""Starts a program in a folder that may lie outside the workspace, where a sandbox starts nothing."""


class ServerGone(Exception):
    """The server did not start, ended, refused, or did not answer in time; the text says which, in a clause."""


class _ErrorTail(asyncio.Protocol):
    """The last bytes of a program's standard error; `ended` is set at its end."""

    def __init__(self) -> None:
        self.tail = b""
        self.ended = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-MOST_ERRORS:]

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()

    def format_last_lines(self) -> str:
        """Return the last lines in one, redacted; "" if there are none."""
        lines = redact(self.tail.decode("utf-8", "replace")).splitlines()
        return " / ".join([each.strip() for each in lines if each.strip()][-3:])[-MOST_SHOWN:]


class ServerPipes:
    """A running program, started by `start`. It may write in the workspace only if its command line says so.

    most_line: bytes of a line that `reader` returns at most
    ended: called with the reason, in a clause, when the program has ended by itself
    """

    def __init__(self, at: Surroundings, most_line: int, ended: Callable[[str], None]) -> None:
        self._at = at
        self._most_line = most_line
        self._ended = ended
        self._running: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._transport: asyncio.ReadTransport | None = None
        self._reader: asyncio.StreamReader | None = None
        self._errors: _ErrorTail | None = None
        self._error_transport: asyncio.ReadTransport | None = None

    @property
    def is_running(self) -> bool:
        return self._running is not None and not self._running.done()

    @property
    def reader(self) -> asyncio.StreamReader:
        """The program's output; only after `start`."""
        assert self._reader is not None
        return self._reader

    @property
    def unread_bytes(self) -> int:
        """Bytes that were written and not yet read by the program."""
        return self._writer.transport.get_write_buffer_size() if self._writer is not None else 0

    async def start(self, line: CommandLine) -> None:
        """Start the program; a failure to start is reported to `ended`. Raises ServerGone."""
        loop = asyncio.get_running_loop()
        can_write = self._at.mode is not Mode.READ_ONLY
        is_writer = can_write and line.is_writer
        caches = self._at.folders.cache / "servers"  # the server's own caches; the user's stay inaccessible
        try:
            create_private_folder(caches)
        except OSError as error:
            raise ServerGone(f"no folder for its caches: {error.strerror}") from None
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        ours_errors, theirs_errors = os.pipe()
        try:
            self._error_transport, self._errors = await loop.connect_read_pipe(
                _ErrorTail, os.fdopen(ours_errors, "rb", 0)
            )
            self._reader = reader = asyncio.StreamReader(limit=self._most_line)
            protocol = asyncio.StreamReaderProtocol(reader)
            self._transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(ours_in, "rb", 0))
            transport, flow = await loop.connect_write_pipe(
                lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(ours_out, "wb", 0)
            )
            self._writer = asyncio.StreamWriter(transport, flow, None, loop)
            ready = asyncio.Event()
            join = _JOIN.format(read=theirs_in, write=theirs_out, errors=theirs_errors)
            command = Command(
                argv=("sh", "-c", join, "sh", *_enter_folder(line)),
                cwd=self._at.root,
                env={"XDG_CACHE_HOME": str(caches), **line.environment},
                timeout=FOREVER,
                scope="workspace" if is_writer else "read-only",
                hosts=line.hosts if can_write else (),
                readable=line.readable,
                writable=(caches, *(line.writable if can_write else ())),
                descriptors=(theirs_in, theirs_out, theirs_errors),
                started=lambda _: ready.set(),
                resident=True,
            )
            self._running = asyncio.create_task(self._run(command))
            waiting = asyncio.create_task(ready.wait())
            try:
                await asyncio.wait([self._running, waiting], return_when=asyncio.FIRST_COMPLETED)
            finally:
                waiting.cancel()
        finally:  # copies of the server's pipe ends: left open, its exit would go unnoticed
            os.close(theirs_in)
            os.close(theirs_out)
            os.close(theirs_errors)

    def write(self, data: bytes) -> None:
        """Send bytes to the program, if it still takes any."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(data)

    def end(self) -> None:
        """End the program and all its processes, without waiting for it."""
        if self._running is not None and not self._running.cancelling():
            self._running.cancel()  # a second cancellation would interrupt the cleanup of its processes

    @property
    def last_errors(self) -> str:
        """The last lines of its standard error so far, in one; "" if there are none."""
        return self._errors.format_last_lines() if self._errors is not None else ""

    async def wait(self, seconds: float) -> None:
        """Wait until the program has ended, at most so long."""
        if self._running is not None:
            await asyncio.wait([self._running], timeout=seconds)

    async def close(self) -> None:
        """End the program and release its streams; safe to call twice."""
        self.end()
        if self._running is not None:
            await asyncio.wait([self._running])
        if self._writer is not None:
            self._writer.close()
        for transport in (self._transport, self._error_transport):
            if transport is not None:
                transport.close()

    async def _run(self, command: Command) -> None:
        try:
            done = await self._at.sandbox.run(command)
        except UserError as error:
            self._ended(error.message)
        else:
            self._ended(f"{_describe_exit(done)}{await self._read_last_errors()}")

    async def _read_last_errors(self) -> str:
        """Return the last lines of the program's standard error, as the rest of a clause."""
        if self._errors is None:
            return ""
        with suppress(TimeoutError):
            async with asyncio.timeout(ERROR_SECONDS):
                await self._errors.ended.wait()
        said = self._errors.format_last_lines()
        return f": {said}" if said else ""


def _describe_exit(done: Completed) -> str:
    if done.returncode in (126, 127):
        return "the program cannot be started"
    return f"it ended with exit status {done.returncode}"


def _enter_folder(line: CommandLine) -> tuple[str, ...]:
    """Return the words that start a server, in its folder if it names one."""
    return line.argv if line.folder is None else ("sh", "-c", _ENTER, "sh", str(line.folder), *line.argv)
