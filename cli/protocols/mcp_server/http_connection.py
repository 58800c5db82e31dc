"""Connections of the HTTP server: one that sends no whole request in time is closed, and their number is bounded."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Time in which the head of a request has to arrive."""

MOST_CONNECTIONS = 128


class BoundedConnection(H11Protocol):
    """A connection of the HTTP server."""

    _alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; if there are too many connections, the one that waits longest goes."""
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > MOST_CONNECTIONS:
            waiting = [
                each for each in self.connections if isinstance(each, BoundedConnection) and each._alarm
            ]
            oldest = min(waiting, key=lambda each: each._alarm.when() if each._alarm else 0.0, default=self)
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take bytes; the time for a head ends with the head."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_alarm()
        elif self._alarm is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_alarm()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._alarm = asyncio.get_running_loop().call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
