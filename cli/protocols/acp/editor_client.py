"""The client of a connection: what it can do, requests to it, updates for it."""

from __future__ import annotations

from typing import Any

from acp.connection import Connection
from acp.meta import CLIENT_METHODS
from acp.schema import SessionNotification
from pydantic import BaseModel

from cli.protocols.acp.content.live_updates import EditorCapabilities, EditorSessionCapabilities, LiveUpdate
from cli.protocols.acp.content.updates import SessionUpdate, write_as_thought
from cli.protocols.acp.stdio_transport import StdioTransport

GONE = (ConnectionError,)
"""Errors of a request to a client that has closed the connection."""


class EditorClient:
    """The other side of a connection. capabilities: as it told them in `initialize`"""

    def __init__(self, connection: Connection, transport: StdioTransport) -> None:
        self.capabilities = EditorCapabilities()
        self._connection = connection
        self._transport = transport

    @property
    def can_ask_forms(self) -> bool:
        """Whether it shows forms to its user."""
        offered = self.capabilities.elicitation
        return offered is not None and offered.form is not None

    @property
    def shows_notices(self) -> bool:
        """Whether it shows notices beside the conversation."""
        return self.capabilities.session is not None and self.capabilities.session.notices is not None

    @property
    def can_read_files(self) -> bool:
        """Whether it returns the text of files as its user sees it."""
        return bool(self.capabilities.fs and self.capabilities.fs.read_text_file)

    @property
    def can_write_files(self) -> bool:
        """Whether it writes files through its buffers."""
        return bool(self.capabilities.fs and self.capabilities.fs.write_text_file)

    def send_update(self, session_id: str, update: SessionUpdate) -> None:
        """Send an update of a session, as a thought where the client shows no such update."""
        if isinstance(update, LiveUpdate):
            if update.is_shown(self.capabilities.session or EditorSessionCapabilities()):
                self._post_update({"sessionId": session_id, "update": dump_model(update)})
                return
            update = write_as_thought(update)
        self._post_update(dump_model(SessionNotification(session_id=session_id, update=update)))

    def _post_update(self, params: dict[str, Any]) -> None:
        method = CLIENT_METHODS["session_update"]
        self._transport.post({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, name: str, params: BaseModel) -> dict[str, Any]:
        """Send a request and return the client's result. Raises RequestError, or ConnectionError if it is gone."""
        result = await self._connection.send_request(CLIENT_METHODS[name], dump_model(params))
        return result if isinstance(result, dict) else {}


def dump_model(model: BaseModel) -> dict[str, Any]:
    """Return a message of the protocol as it is sent."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
