"""Serving over streamable HTTP, at the loopback address only."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from cli.protocols.mcp_server.http_connection import BoundedConnection
from cli.protocols.mcp_server.http_guard import MOST_BYTES, HttpGuard
from cli.protocols.mcp_server.server import RepositoryServer
from sandbox.errors import Fault, UserError

PATH = "/mcp"

MOST_SESSIONS, IDLE_SECONDS = 64, 600.0
"""Sessions of clients of older revisions, and the time after which one without requests is closed."""

FAREWELL_SECONDS = 5
"""Time for requests to end when the server does."""


class _QuietServer(uvicorn.Server):
    """A server whose signals are handled by the command."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the handlers of signals as they are."""
        yield


def bind_loopback(port: int) -> socket.socket:
    """Return a socket that listens at 127.0.0.1. port: 0 for any free one. Raises UserError."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise UserError(
            Fault.USAGE,
            f"cannot listen at port {port}: {error.strerror}",
            "Choose another one, or 0 for any.",
        ) from None
    return listener


def build_app(server: RepositoryServer, *, token: str, port: int) -> ASGIApp:
    """Return the application: the SDK's, behind our guard."""
    hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
    security = TransportSecuritySettings(
        allowed_hosts=hosts, allowed_origins=[f"http://{each}" for each in hosts]
    )
    app = server.sdk.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security,
        max_request_body_size=MOST_BYTES,
        max_sessions=MOST_SESSIONS,
        session_idle_timeout=IDLE_SECONDS,
    )
    return HttpGuard(app, token=token, port=port)


async def serve_http(
    server: RepositoryServer,
    listener: socket.socket,
    token: str,
    keep_stop: Callable[[Callable[[], None]], None],
) -> None:
    """Serve clients until the stop that `keep_stop` is given is called; calls at work are ended then."""
    port = listener.getsockname()[1]
    config = uvicorn.Config(
        build_app(server, token=token, port=port),
        http=BoundedConnection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=FAREWELL_SECONDS,
    )
    web = _QuietServer(config)

    ends: list[asyncio.Future[None]] = []

    def stop() -> None:
        web.should_exit = True
        ends.append(
            asyncio.ensure_future(server.close())
        )  # so that clients get the results of what has ended

    keep_stop(stop)
    try:
        await web.serve(sockets=[listener])
    finally:
        await asyncio.gather(*ends)
        await server.close()
