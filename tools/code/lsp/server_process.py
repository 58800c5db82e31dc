"""A language server as a process in the sandbox, with JSON-RPC requests and notifications."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from sandbox.process.command_line import CommandLine
from tools.code.lsp.message_framing import BadMessage, frame_message, read_framed_message
from tools.core.surroundings import Surroundings
from tools.shell.server_pipes import MOST_UNREAD, ServerGone, ServerPipes

_ACKNOWLEDGED = (
    "client/registerCapability",
    "client/unregisterCapability",
    "window/showMessageRequest",
    "window/workDoneProgress/create",
    "workspace/diagnostic/refresh",
)
"""Requests of a server that are answered with null."""

GRACE = 1.0
"""Seconds to exit after a shutdown request."""

LONGEST_REFUSAL = 1_000
"""Characters of an error message, which becomes one line."""

MOST_LINE = 1 << 20
"""Bytes of a header."""


class ServerRefusal(ServerGone):
    """An error that answers one request. code: of JSON-RPC or the protocol, 0 without one"""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class ServerProcess:
    """A running server, started by `start`.

    notified: called with the method and parameters of each notification, and of each request of the server
    """

    def __init__(self, at: Surroundings, notified: Callable[[str, Any], None]) -> None:
        self._notified = notified
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._problem = ""
        self._reading: asyncio.Task[None] | None = None
        self._pipes = ServerPipes(at, MOST_LINE, self._fail_waiting)

    @property
    def alive(self) -> bool:
        return self._pipes.is_running and not self._problem

    async def start(self, line: CommandLine) -> None:
        """Start the program. A failure to start is reported by the first request. Raises ServerGone."""
        await self._pipes.start(line)
        self._reading = asyncio.create_task(self._read())

    async def request(self, method: str, parameters: Mapping[str, Any] | None, seconds: float) -> Any:
        """Return the result of a request; without parameters it has no such field. Raises ServerGone."""
        if not self.alive:
            raise ServerGone(self._problem or "it has ended")
        self._number += 1
        number = self._number
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._send({"id": number, "method": method, **_spell_parameters(parameters)})
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            self._cancel(number)
            raise ServerGone(f"it did not answer within {seconds:g} s") from None
        except asyncio.CancelledError:
            self._cancel(number)
            raise
        finally:
            del self._waiting[number]

    def notify(self, method: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        self._send({"method": method, **_spell_parameters(parameters)})

    async def close(self) -> None:
        """End the server and all its processes; safe to call twice."""
        if self.alive:
            with suppress(ServerGone):
                await self.request("shutdown", None, GRACE)
                self.notify("exit")
                await self._pipes.wait(GRACE)
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        await self._pipes.close()
        self._fail_waiting("it was ended")

    def _cancel(self, number: int) -> None:
        """Send a cancel notification: no caller waits for the answer any more."""
        self.notify("$/cancelRequest", {"id": number})

    def _send(self, content: Mapping[str, Any]) -> None:
        self._pipes.write(frame_message(content))

    async def _read(self) -> None:
        """Dispatch messages as they arrive; their content is untrusted."""
        try:
            while (message := await read_framed_message(self._pipes.reader)) is not None:
                self._dispatch_message(message)
                if self._pipes.unread_bytes > MOST_UNREAD:
                    raise BadMessage("it does not read what it is sent")
        except (BadMessage, ValueError) as bad:  # ValueError: an unterminated line
            self._fail_waiting(str(bad))
            self._pipes.end()

    def _dispatch_message(self, message: Mapping[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str) and number is not None:
            self._notified(method, message.get("params"))
            self._send({"id": number, **_answer_editor_request(method, message.get("params"))})
        elif isinstance(method, str):
            self._notified(method, message.get("params"))
        elif isinstance(number, int) and (waiting := self._waiting.get(number)) and not waiting.done():
            error = message.get("error")
            if isinstance(error, dict):
                code = error.get("code")
                waiting.set_exception(
                    ServerRefusal(
                        f"it refused: {_format_refusal(error)}", code if isinstance(code, int) else 0
                    )
                )
            else:
                waiting.set_result(message.get("result"))

    def _fail_waiting(self, problem: str) -> None:
        """Fail all pending requests: no further answer will arrive."""
        self._problem = self._problem or problem
        for each in self._waiting.values():
            if not each.done():
                each.set_exception(ServerGone(self._problem))


def _spell_parameters(parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    return {} if parameters is None else {"params": parameters}


def _answer_editor_request(method: str, parameters: object) -> dict[str, Any]:
    """Answer a server's request to the editor: no settings are given, no file is changed."""
    if method == "workspace/configuration":
        items = parameters.get("items") if isinstance(parameters, dict) else None
        return {"result": [None] * len(items) if isinstance(items, list) else []}
    if method == "workspace/applyEdit":
        return {"result": {"applied": False}}
    if method in _ACKNOWLEDGED:
        return {"result": None}
    return {"error": {"code": -32601, "message": f"no method {method}"}}


def _format_refusal(error: Mapping[str, Any]) -> str:
    """Return the message of an error on one line; it is untrusted, and may be megabytes."""
    words = str(error.get("message", "no reason given"))[: 4 * LONGEST_REFUSAL].split()
    return " ".join(words)[:LONGEST_REFUSAL]
