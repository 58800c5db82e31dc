"""Result of a tool call."""

from __future__ import annotations

from pydantic import BaseModel

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Result of a call. text: for a model; data: the same as structured content; failed: it did not do its work"""

    text: str
    data: BaseModel
    failed: bool = False
