"""Lines of JSON over standard input and output, each a message, read and written by threads of their own.

Bad input is answered and passed over; a client that does not read its answers is not read from.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import threading
from collections.abc import Iterator
from typing import Any

from cli.output.standard_streams import write_error

LONGEST = 64 << 20
"""Limit on the bytes of one message: enough for ten images, the most of a prompt."""

MOST_WAITING = 256
"""Messages that have been read and are not handled yet; the client waits with more."""

MOST_UNWRITTEN = 32 << 20
"""Bytes of answers that the client has not read; until it reads them, nothing is read from it."""

FAREWELL_SECONDS = 2.0
"""Time to write the last answers when the connection is closed."""

PIECE = 1 << 16

_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600

Message = dict[str, Any]


class StdioTransport:
    """Transport of messages between descriptors. Implements the SDK's `Transport`. name: of the server, in notices"""

    def __init__(self, source: int, sink: int, *, name: str = "acp") -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._received: asyncio.Queue[bytes | str | None] = asyncio.Queue()
        self._room = threading.BoundedSemaphore(MOST_WAITING)
        self._unwritten = 0
        self._written = asyncio.Event()
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_lines, args=(sink,), daemon=True)
        self._writer.start()
        threading.Thread(target=self._read_lines, args=(source,), daemon=True).start()

    async def receive(self) -> Message | None:
        """Return the next message, None when the client has closed its side."""
        while True:
            await self.drain()
            line = await self._received.get()
            if line is None:
                return None
            self._room.release()
            message = self._parse_line(line)
            if message is not None:
                return message

    async def send(self, message: Message) -> None:
        """Send a message after those before it; nothing happens if the client is gone."""
        self.post(message)

    def post(self, message: Message) -> None:
        """Send a message, as `send`, from code that cannot wait."""
        line = json.dumps(message, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
        self._unwritten += len(line)
        self._outgoing.put(line)

    async def close(self) -> None:
        """Write the answers that wait; a client that does not read loses them."""
        self._outgoing.put(None)
        await asyncio.to_thread(self._writer.join, FAREWELL_SECONDS)

    async def drain(self) -> None:
        """Wait while the client has too many answers to read."""
        while self._unwritten > MOST_UNWRITTEN:
            self._written.clear()
            await self._written.wait()

    def _parse_line(self, line: bytes | str) -> Message | None:
        """Return a line's message; None for one that is none, which is answered with an error."""
        if isinstance(line, str):
            self._refuse(_PARSE_ERROR, line)
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            self._refuse(_PARSE_ERROR, f"not JSON: {str(error)[:200]}")
            return None
        if problem := _find_problem(message):
            number = message.get("id") if isinstance(message, dict) else None
            self._refuse(_INVALID_REQUEST, problem, number if _is_id(number) else None)
            return None
        return message if isinstance(message, dict) else None

    def _refuse(self, code: int, problem: str, number: object = None) -> None:
        write_error(f"patchwright: {self._name}: a message was not understood: {problem}\n")
        self.post({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": problem}})

    def _count_written(self, size: int) -> None:
        self._unwritten -= size
        self._written.set()

    def _read_lines(self, source: int) -> None:
        try:
            for line in _iter_lines(source):
                self._room.acquire()
                self._loop.call_soon_threadsafe(self._received.put_nowait, line)
            self._loop.call_soon_threadsafe(self._received.put_nowait, None)
        except RuntimeError:  # the event loop is closed: the command has ended
            return

    def _write_lines(self, sink: int) -> None:
        is_open = True
        while (line := self._outgoing.get()) is not None:
            try:
                rest = memoryview(line)
                while is_open and rest:
                    rest = rest[os.write(sink, rest) :]
            except OSError:  # the client is gone: its side of the input ends, too
                is_open = False
            try:
                self._loop.call_soon_threadsafe(self._count_written, len(line))
            except RuntimeError:  # the event loop is closed
                return


def _iter_lines(source: int) -> Iterator[bytes | str]:
    """Yield the lines of a descriptor; in place of one that is too long, the reason as text."""
    parts: list[bytes] = []
    size = 0
    while True:
        try:
            piece = os.read(source, PIECE)
        except OSError:
            piece = b""
        first, *others = piece.split(b"\n")
        size += len(first)
        if size <= LONGEST:
            parts.append(first)
        else:
            parts.clear()
        for each in others:
            if size > LONGEST:
                yield f"a message of {size / 1e6:.0f} MB; at most {LONGEST / 1e6:.0f} MB are read"
            elif (line := b"".join(parts)).strip():
                yield line
            parts, size = [each], len(each)
        if not piece:
            if 0 < size <= LONGEST and (line := b"".join(parts)).strip():
                yield line
            return


def _find_problem(message: object) -> str:
    """Return why a value is no message of JSON-RPC, "" if it is one."""
    if not isinstance(message, dict):
        return "a message is an object with a method, or with the id of a request"
    if "id" in message and not _is_id(message["id"]):
        return "an id is a text or a whole number"
    if "method" not in message:
        answers = "id" in message and ("result" in message or isinstance(message.get("error"), dict))
        return "" if answers else "a message has a method, or an id with a result or an error"
    if not isinstance(message["method"], str):
        return "a method is a text"
    if not isinstance(message.get("params"), dict | list | None):
        return "params are an object"
    return ""


def _is_id(value: object) -> bool:
    return value is None or (isinstance(value, str | int) and not isinstance(value, bool))
