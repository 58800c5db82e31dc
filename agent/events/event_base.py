"""Base class of all events, and their component types."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from sandbox.lazy_dataclass import dataclass

FORMAT = 2
"""Version of the event format. Incremented when an old reader could misunderstand a new log."""


KEEP_UNKNOWN = {"extra": "allow"}
"""Pydantic's configuration of every class here: unknown fields become attributes like the others."""


@dataclass(kw_only=True)
class Event:
    """Fields that all events share. The log stamps them when it writes them.

    id: "e" and the place in the log, counted from 1; parent: the event before it
    time: seconds since the epoch
    """

    __pydantic_config__ = KEEP_UNKNOWN

    v: int = FORMAT
    id: str = ""
    parent: str = ""
    time: float = 0.0
    kind: str


@dataclass(kw_only=True)
class AskedAction:
    """An action as written in a message. `raw` is kept only where it could not be parsed."""

    __pydantic_config__ = KEEP_UNKNOWN

    id: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    raw: str = ""
    problem: str = ""


@dataclass(kw_only=True)
class UsageRecord:
    """Tokens, dollars (None: price unknown) and seconds.

    written: tokens of `input` that the provider wrote to its cache; wait: seconds until the first part of a reply.
    Both are None where they are not known.
    """

    __pydantic_config__ = KEEP_UNKNOWN

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    cost: float | None = None
    seconds: float = 0.0
    written: int | None = None
    wait: float | None = None

    def add(self, more: UsageRecord) -> None:
        """Add the usage of another call. An unknown cost is left out."""
        self.input += more.input
        self.cached += more.cached
        self.output += more.output
        self.reasoning += more.reasoning
        self.seconds += more.seconds
        if more.written is not None:
            self.written = (self.written or 0) + more.written
        if more.cost is not None:
            self.cost = (self.cost or 0.0) + more.cost


@dataclass(kw_only=True)
class UnknownEvent(Event):
    """An event of a kind that this version does not know: carried along, never interpreted."""
