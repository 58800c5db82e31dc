"""A language server as a process in the sandbox, with JSON-RPC requests and notifications."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from sandbox.errors import UserError
from sandbox.fs.private_files import create_private_folder
from sandbox.process.command import Command, Completed
from sandbox.process.command_line import CommandLine
from tools.code.lsp.message_framing import BadMessage, frame_message, read_framed_message
from tools.core.surroundings import Surroundings

FOREVER = 10.0 * 365 * 86_400
"""Seconds: a server lives as long as its session; its requests have limits of their own."""

GRACE = 1.0
"""Seconds to exit after a shutdown request."""

MOST_UNREAD = 32 << 20
"""Bytes that wait for the server to read them: one that only asks would fill our memory with the answers."""

LONGEST_REFUSAL = 1_000
"""Characters of an error message, which becomes one line."""

_JOIN = 'exec "$@" </dev/fd/{read} >/dev/fd/{write} 2>/dev/null'
"""Servers use their standard streams; the inherited pipes keep their own descriptor numbers. (Numbers of two
digits cannot be given to `<&` in every shell.)
"""

_ENTER = 'cd "$1" && shift && exec "$@"'
"""Starts a program in a folder that may lie outside the workspace, where a sandbox starts nothing."""


class ServerGone(Exception):
    """The server did not start, ended, refused, or did not answer in time; the text says which, in a clause."""


class ServerProcess:
    """A running server, started by `start`.

    notified: called with the method and parameters of each notification
    most_line, farewell: bytes of a line, and whether a shutdown request is sent; subclasses for other JSON-RPC
        protocols override these and the methods to write, read, answer and cancel
    """

    most_line = 1 << 20
    farewell = True

    def __init__(self, at: Surroundings, notified: Callable[[str, Any], None]) -> None:
        self._at = at
        self._notified = notified
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._problem = ""
        self._running: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._transport: asyncio.ReadTransport | None = None

    @property
    def alive(self) -> bool:
        return self._running is not None and not self._running.done() and not self._problem

    async def start(self, line: CommandLine) -> None:
        """Start the program. A failure to start is reported by the first request. Raises ServerGone."""
        loop = asyncio.get_running_loop()
        caches = self._at.folders.cache / "servers"  # the server's own caches; the user's stay inaccessible
        try:
            create_private_folder(caches)
        except OSError as error:
            raise ServerGone(f"no folder for its caches: {error.strerror}") from None
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        try:
            reader = asyncio.StreamReader(limit=self.most_line)
            protocol = asyncio.StreamReaderProtocol(reader)
            self._transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(ours_in, "rb", 0))
            transport, flow = await loop.connect_write_pipe(
                lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(ours_out, "wb", 0)
            )
            self._writer = asyncio.StreamWriter(transport, flow, None, loop)
            ready = asyncio.Event()
            command = Command(
                argv=("sh", "-c", _JOIN.format(read=theirs_in, write=theirs_out), "sh", *_enter_folder(line)),
                cwd=self._at.root,
                env={"XDG_CACHE_HOME": str(caches), **line.environment},
                timeout=FOREVER,
                scope="read-only",
                readable=line.readable,
                writable=(caches, *line.writable),
                descriptors=(theirs_in, theirs_out),
                started=lambda _: ready.set(),
                resident=True,
            )
            self._running = asyncio.create_task(self._run(command))
            waiting = asyncio.create_task(ready.wait())
            await asyncio.wait([self._running, waiting], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            self._reading = asyncio.create_task(self._read(reader))
        finally:  # copies of the server's pipe ends: left open, its exit would go unnoticed
            os.close(theirs_in)
            os.close(theirs_out)

    async def request(self, method: str, parameters: Mapping[str, Any], seconds: float) -> Any:
        """Return the result of a request. Raises ServerGone."""
        if not self.alive:
            raise ServerGone(self._problem or "it has ended")
        self._number += 1
        number = self._number
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._send({"id": number, "method": method, "params": parameters})
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            self.cancel(number)
            raise ServerGone(f"it did not answer within {seconds:g} s") from None
        except asyncio.CancelledError:
            self.cancel(number)
            raise
        finally:
            del self._waiting[number]

    def cancel(self, number: int) -> None:
        """Send a cancel notification: no caller waits for the answer any more."""
        self.notify("$/cancelRequest", {"id": number})

    def encode_message(self, content: Mapping[str, Any]) -> bytes:
        """Return the bytes of a message."""
        return frame_message(content)

    async def read_message(self, reader: asyncio.StreamReader) -> dict[str, Any] | None:
        """Return the next message, None at the end. Raises BadMessage, ValueError (an unterminated line)."""
        return await read_framed_message(reader)

    def answer_request(self, method: str, parameters: object) -> dict[str, Any]:
        """Return the response to a request of the server."""
        return _answer_editor_request(method, parameters)

    def notify(self, method: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        self._send({"method": method, **({} if parameters is None else {"params": parameters})})

    async def close(self) -> None:
        """End the server and all its processes; safe to call twice."""
        if self.alive and self.farewell:
            with suppress(ServerGone):
                await self.request("shutdown", {}, GRACE)
                self.notify("exit")
                if self._running is not None:
                    await asyncio.wait([self._running], timeout=GRACE)
        tasks = [each for each in (self._running, self._reading) if each is not None]
        for each in tasks:
            if not each.cancelling():  # a second cancellation would interrupt the cleanup of its processes
                each.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._fail_waiting("it was ended")
        if self._writer is not None:
            self._writer.close()
        if self._transport is not None:
            self._transport.close()

    def _send(self, content: Mapping[str, Any]) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(self.encode_message(content))

    async def _run(self, command: Command) -> None:
        try:
            done = await self._at.sandbox.run(command)
        except UserError as error:
            self._fail_waiting(error.message)
        else:
            self._fail_waiting(_describe_exit(done))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        """Dispatch messages as they arrive; their content is untrusted."""
        try:
            while (message := await self.read_message(reader)) is not None:
                self._dispatch_message(message)
                if self._writer is not None and self._writer.transport.get_write_buffer_size() > MOST_UNREAD:
                    raise BadMessage("it does not read what it is sent")
        except (BadMessage, ValueError) as bad:  # ValueError: an unterminated line
            self._fail_waiting(str(bad))
            if self._running is not None:
                self._running.cancel()

    def _dispatch_message(self, message: Mapping[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str) and number is not None:
            self._send({"id": number, **self.answer_request(method, message.get("params"))})
        elif isinstance(method, str):
            self._notified(method, message.get("params"))
        elif isinstance(number, int) and (waiting := self._waiting.get(number)) and not waiting.done():
            error = message.get("error")
            if isinstance(error, dict):
                waiting.set_exception(ServerGone(f"it refused: {_format_refusal(error)}"))
            else:
                waiting.set_result(message.get("result"))

    def _fail_waiting(self, problem: str) -> None:
        """Fail all pending requests: no further answer will arrive."""
        self._problem = self._problem or problem
        for each in self._waiting.values():
            if not each.done():
                each.set_exception(ServerGone(self._problem))


def _answer_editor_request(method: str, parameters: object) -> dict[str, Any]:
    """Answer a server's request to the editor: no settings are given, no file is changed."""
    if method == "workspace/configuration":
        items = parameters.get("items") if isinstance(parameters, dict) else None
        return {"result": [None] * len(items) if isinstance(items, list) else []}
    if method == "workspace/applyEdit":
        return {"result": {"applied": False}}
    known = ("client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create")
    if method in known or method == "window/showMessageRequest":
        return {"result": None}
    return {"error": {"code": -32601, "message": f"no method {method}"}}


def _format_refusal(error: Mapping[str, Any]) -> str:
    """Return the message of an error on one line; it is untrusted, and may be megabytes."""
    words = str(error.get("message", "no reason given"))[: 4 * LONGEST_REFUSAL].split()
    return " ".join(words)[:LONGEST_REFUSAL]


def _describe_exit(done: Completed) -> str:
    if done.returncode in (126, 127):
        return "the program cannot be started"
    return f"it ended with exit status {done.returncode}"


def _enter_folder(line: CommandLine) -> tuple[str, ...]:
    """Return the words that start a server, in its folder if it names one."""
    return line.argv if line.folder is None else ("sh", "-c", _ENTER, "sh", str(line.folder), *line.argv)
