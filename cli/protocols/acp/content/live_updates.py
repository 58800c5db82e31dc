"""Updates of the protocol's newest schema that the SDK has no types for: notices and compactions.

Source: `Notice`, `CompactionUpdate` and `ClientSessionCapabilities` of @agentclientprotocol/sdk 2.4.0 (`schema/v1`).
A client that did not announce them is sent a thought instead.
"""

from __future__ import annotations

from typing import Any, Literal

from acp.schema import ClientCapabilities, ClientSessionCapabilities, InitializeRequest
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

_CAMEL = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class EditorSessionCapabilities(ClientSessionCapabilities):
    """What a client can show of a session."""

    notices: dict[str, Any] | None = None
    compaction: dict[str, Any] | None = None


class EditorCapabilities(ClientCapabilities):
    """What a client can do."""

    session: EditorSessionCapabilities | None = None


class EditorInitializeRequest(InitializeRequest):
    """The first request of a client, with what the SDK's type leaves out."""

    client_capabilities: EditorCapabilities | None = Field(default=None, alias="clientCapabilities")


class SessionNotice(BaseModel):
    """Something that a user may want to know, now: a retry, a fallback, what a hook says."""

    model_config = _CAMEL

    session_update: Literal["notice"] = "notice"
    severity: Literal["info", "warning", "error"] = "info"
    title: str = Field(min_length=1)

    @property
    def words(self) -> str:
        """The same in a line."""
        return self.title

    def is_shown(self, capabilities: EditorSessionCapabilities) -> bool:
        """Whether a client shows it."""
        return capabilities.notices is not None


class CompactionNotice(BaseModel):
    """The history was shortened. summary: content blocks"""

    model_config = _CAMEL

    session_update: Literal["compaction_update"] = "compaction_update"
    compaction_id: str
    status: Literal["completed"] = "completed"
    summary: list[dict[str, str]]

    @property
    def words(self) -> str:
        """The same in a line."""
        return "".join(each["text"] for each in self.summary)

    def is_shown(self, capabilities: EditorSessionCapabilities) -> bool:
        """Whether a client shows it."""
        return capabilities.compaction is not None


LiveUpdate = SessionNotice | CompactionNotice
