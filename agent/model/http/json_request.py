"""One small request to a model server outside of a conversation, answered with JSON, within a time."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from agent.model.http.http_route import resolve_route
from sandbox.errors import UserError

LARGEST = 4 << 20
"""Bytes of an answer that are read."""


def request_json(
    url: str,
    headers: Mapping[str, str],
    body: Mapping[str, Any] | None = None,
    *,
    silence: float,
    seconds: float,
    direct: bool = False,
) -> tuple[int, object]:
    """Return status and JSON of an answer, (0, None) without one. Raises nothing: the model's own requests tell.

    body: is posted; None: the address is only read
    silence: seconds without a byte; seconds: for all of it, since a server may send byte by byte
    direct: not by a proxy, which would read along
    """
    try:
        route = resolve_route(url, silence, silence)
        if direct and route.proxy is not None:
            return 0, None
        connection = route.create_connection()
    except (UserError, OSError):
        return 0, None
    sent = {"Accept": "application/json", "Connection": "close", **headers, **route.proxy_headers()}
    text = None
    if body is not None:
        sent["Content-Type"], text = "application/json", json.dumps(body).encode()
    end = threading.Timer(seconds, _shut_down, (connection,))
    end.daemon = True
    try:
        end.start()
        connection.request("GET" if body is None else "POST", route.target, text, sent)
        answer = connection.getresponse()
        content = answer.read(LARGEST + 1)
        return answer.status, json.loads(content) if len(content) <= LARGEST else None
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return 0, None
    finally:
        end.cancel()
        connection.close()


def _shut_down(connection: http.client.HTTPConnection) -> None:
    """Wake a thread that reads from the connection."""
    connected = connection.sock
    if connected is not None:
        with suppress(OSError):  # closed meanwhile
            socket.socket.shutdown(connected, socket.SHUT_RDWR)
