"""Serving over standard input and output: bounded lines in, messages of the protocol and nothing else out."""

from __future__ import annotations

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from cli.protocols.acp.stdio_transport import StdioTransport
from cli.protocols.mcp_server.server import RepositoryServer

_INVALID_REQUEST = -32600


async def serve_stdio(server: RepositoryServer, source: int, sink: int) -> None:
    """Serve the client at two descriptors until it closes its side; its calls are ended then."""
    transport = StdioTransport(source, sink, name="mcp")
    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, written = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_read_messages, transport, received)
            group.start_soon(_write_messages, transport, written)
            options = server.sdk.create_initialization_options()
            await server.sdk.run(incoming, outgoing, options)
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await server.close()
            await transport.close()


async def _read_messages(
    transport: StdioTransport, received: anyio.abc.ObjectSendStream[SessionMessage | Exception]
) -> None:
    async with received:
        while (message := await transport.receive()) is not None:
            try:
                parsed = jsonrpc_message_adapter.validate_python(message, by_name=False)
            except ValidationError:
                error = {"code": _INVALID_REQUEST, "message": "not a message of JSON-RPC 2.0"}
                number = message.get("id")
                await transport.send({"jsonrpc": "2.0", "id": number, "error": error})
                continue
            await received.send(SessionMessage(parsed))


async def _write_messages(
    transport: StdioTransport, written: anyio.abc.ObjectReceiveStream[SessionMessage]
) -> None:
    async with written:
        async for message in written:
            await transport.drain()
            await transport.send(message.message.model_dump(mode="json", by_alias=True, exclude_unset=True))
