"""Result of a tool call."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Result of a call. text: for a model; data: the same as structured content; failed: it did not do its work"""

    text: str
    data: BaseModel
    failed: bool = False
