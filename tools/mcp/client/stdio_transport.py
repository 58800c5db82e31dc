"""A server as a program in the sandbox: one line of JSON a message, both ways ("stdio" transport of the protocol).

The SDK's own transport would start the program unconfined, so it is given these streams instead.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from sandbox.process.command_line import CommandLine
from tools.core.surroundings import Surroundings
from tools.mcp.client.message_bounds import (
    MOST_BYTES_OF_MESSAGE,
    USED_NOTIFICATIONS,
    BadMessage,
    MessageBounds,
    make_refusal,
)
from tools.mcp.descriptions import replace_surrogates
from tools.shell.server_pipes import MOST_UNREAD, ServerPipes

EXIT_SECONDS = 1.0
"""Time for the program to exit behind the end of its output: its status is a better reason."""


class StdioTransport:
    """Streams of one program for the SDK; starts it, and ends it with the connection."""

    def __init__(self, at: Surroundings, line: CommandLine, bounds: MessageBounds) -> None:
        self._line = line
        self._bounds = bounds
        self._pipes = ServerPipes(at, MOST_BYTES_OF_MESSAGE, bounds.fail)

    @property
    def last_errors(self) -> str:
        """See `ServerPipes.last_errors`."""
        return self._pipes.last_errors

    async def __aenter__(self) -> tuple[StdioReader, StdioWriter]:
        """Start the program. Raises ServerGone."""
        try:
            await self._pipes.start(self._line)
        except BaseException:  # a cancellation, too: no program stays behind; raised again
            await self._pipes.close()
            raise
        return StdioReader(self._pipes, self._bounds), StdioWriter(self._pipes, self._bounds)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pipes.close()


class StdioReader:
    """Messages of the program; they end with its output, or where it violates the protocol or its bounds."""

    def __init__(self, pipes: ServerPipes, bounds: MessageBounds) -> None:
        self._pipes = pipes
        self._bounds = bounds

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        return await self.__anext__()

    def __aiter__(self) -> StdioReader:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            while line := await self._read_line():
                if self._pipes.unread_bytes > MOST_UNREAD:
                    raise BadMessage("it does not read what it is sent")
                await asyncio.sleep(0)  # answers to requests that came before
                if line.strip() and (message := self._parse(line)) is not None:
                    return message
        except BadMessage as bad:
            self._bounds.fail(str(bad))
            self._pipes.end()
            raise StopAsyncIteration from None
        await self._pipes.wait(EXIT_SECONDS)
        self._bounds.fail("it closed its output")
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Leave the streams to the transport."""

    async def __aenter__(self) -> StdioReader:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _read_line(self) -> bytes:
        try:
            line = await self._pipes.reader.readline()
        except ValueError:  # no end within the limit
            raise BadMessage(f"it sent a line of more than {MOST_BYTES_OF_MESSAGE >> 20} MiB") from None
        if line:
            self._bounds.count(messages=1, size=len(line))
        return line

    def _parse(self, line: bytes) -> SessionMessage | None:
        """Return the message of a line, None for one that nobody waits for, or that is none. Raises BadMessage."""
        try:
            message = json.loads(line)
            if b"\\ud" in line.lower():
                message = _replace_all_surrogates(message)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            self._bounds.skip_line(line)
            return None
        self._bounds.note_message()
        number = message.get("id")
        if "method" not in message and not self._bounds.is_awaited(number):
            return None
        if "id" not in message and str(message["method"]) not in USED_NOTIFICATIONS:
            return None  # before its validation, which a flood would make us pay for
        try:
            parsed: JSONRPCMessage = jsonrpc_message_adapter.validate_python(
                {"jsonrpc": "2.0", **message}, by_name=False
            )
        except ValidationError:
            return self._refuse_answer(message)
        return self._bounds.admit(SessionMessage(parsed))

    def _refuse_answer(self, message: Mapping[str, Any]) -> SessionMessage | None:
        """Return what fails the request that a message answers wrongly; None if it answers none."""
        number: Any = message.get("id")
        if "method" in message or not self._bounds.is_awaited(number):
            return None
        error = message.get("error")
        said = error.get("message", "no reason given") if isinstance(error, dict) else "a result that is none"
        return self._bounds.admit(make_refusal(number, str(said)))


class StdioWriter:
    """Messages to the program. They never wait for it: one that reads none is ended by the reader."""

    def __init__(self, pipes: ServerPipes, bounds: MessageBounds) -> None:
        self._pipes = pipes
        self._bounds = bounds

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message as one line."""
        self._bounds.note_sent(item)
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True, ensure_ascii=True)
        self._pipes.write(line.encode("ascii") + b"\n")

    async def aclose(self) -> None:
        """Leave the streams to the transport."""

    async def __aenter__(self) -> StdioWriter:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _replace_all_surrogates(value: Any) -> Any:
    """Replace halves of characters in a parsed message. Raises RecursionError."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, list):
        return [_replace_all_surrogates(each) for each in value]
    if isinstance(value, dict):
        return {replace_surrogates(key): _replace_all_surrogates(each) for key, each in value.items()}
    return value
