"""The events of a session's history itself: where it goes back, where it came from, what is sent in short form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from agent.events.event_base import KEEP_UNKNOWN, Event


@dataclass(kw_only=True)
class Rewind(Event):
    """The session goes on from event `to`, which is this event's parent; what came after it stays in the log."""

    kind: Literal["rewind"] = "rewind"
    to: str


@dataclass(kw_only=True)
class Fork(Event):
    """Up to here the log is a copy of session `origin` up to its event `at`."""

    kind: Literal["fork"] = "fork"
    origin: str
    at: str


@dataclass(kw_only=True)
class Title(Event):
    """What the session is called from here on, in place of the first line of its first prompt."""

    kind: Literal["title"] = "title"
    text: str


@dataclass(kw_only=True)
class Fold:
    """A run of events, first and last included, that is sent as `text`; what people said in it is sent as it is."""

    __pydantic_config__ = KEEP_UNKNOWN

    first: str
    last: str
    text: str


@dataclass(kw_only=True)
class Compaction(Event):
    """From here on a shorter text is sent for parts of the history. Nothing is taken out of the log.

    stage: which of the stages made it: "masking", "folding", "summary", "forget" (asked for by the model) or "undo"
    masked: event id of an observation → what is sent for it ("": one line that says how to have it back)
    undoes: id of the compaction that holds no more from here on, "" if none
    state: of a summary: the facts of the log so far, so that a long one need not be read again
    """

    kind: Literal["compaction"] = "compaction"
    stage: str = "masking"
    masked: dict[str, str] = field(default_factory=dict)
    folds: list[Fold] = field(default_factory=list)
    undoes: str = ""
    state: dict[str, Any] = field(default_factory=dict)
    tokens_before: int
    tokens_after: int
    reason: str
