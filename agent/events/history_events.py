"""Events about a session's history: rewind, fork, title and compaction."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from agent.events.event_base import KEEP_UNKNOWN, Event
from sandbox.lazy_dataclass import dataclass


@dataclass(kw_only=True)
class Rewind(Event):
    """The session continues from event `to`, which is this event's parent; later events stay in the log."""

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
    """The session's name from here on, in place of the first line of its first prompt."""

    kind: Literal["title"] = "title"
    text: str


@dataclass(kw_only=True)
class Feedback(Event):
    """A person's note on a step. event: id of the step's reply; good: whether it is to be so, or never again"""

    kind: Literal["feedback"] = "feedback"
    event: str
    good: bool
    text: str


@dataclass(kw_only=True)
class Fold:
    """A run of events, first and last included, that is sent as `text`; the user's words in it are sent unchanged."""

    __pydantic_config__ = KEEP_UNKNOWN

    first: str
    last: str
    text: str


@dataclass(kw_only=True)
class Compaction(Event):
    """From here on a shorter text is sent for parts of the history. Nothing is removed from the log.

    stage: which of the stages made it: "masking", "folding", "summary", "forget" (asked for by the model) or
    "undo"
    masked: event id of an observation → the text sent for it ("": one line that says how to get it back)
    undoes: id of the compaction that is void from here on, "" if none
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
