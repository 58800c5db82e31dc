"""A model in a GGUF file, behind a server of our own that is started before the first request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from agent.model.gguf.own_server import OwnServer
from agent.model.gguf.server_records import ServerRecord
from agent.model.http.http_model import HttpModel, ModelAddress
from agent.model.protocol import Delta, Request


class GgufModel(HttpModel):
    """Like `HttpModel`, at the address where the file's server runs at the time."""

    def __init__(self, place: ModelAddress, *, server: OwnServer, **options: Any) -> None:
        super().__init__(place, **options)
        self.window = server.window
        self._server = server

    async def prepare(self) -> None:
        """Start the server, and learn what it is."""
        await self._ensure()
        await super().prepare()

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`. The server is started first if it was ended meanwhile."""
        await self._ensure()
        async with aclosing(super().stream(request)) as deltas:  # type: ignore[type-var]
            async for delta in deltas:
                yield delta
        self._server.file.touch()

    async def _ensure(self) -> None:
        record = await asyncio.to_thread(self._server.ensure, self.on_notice)
        self.move(build_address(self.name, self._server, record))


def build_address(name: str, server: OwnServer, record: ServerRecord | None) -> ModelAddress:
    """Return the address of a server, which it may not have yet."""
    port, token = (record.port, record.token) if record else (server.file.preferred_port, "")
    return ModelAddress(
        name=name,
        model=server.weights.stem,
        base=f"http://127.0.0.1:{port}/v1",
        key=token,
        key_variable="the server's token",
    )
