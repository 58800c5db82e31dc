"""The events of a session log: versioned, one JSON object a line, checked by pydantic when they are read.

Unknown fields survive a round trip, and so do events of unknown kinds, so that an older
program can read, fork and copy the log of a newer one without losing anything.

They are plain dataclasses, so that a run that only writes events does not wait for pydantic (a third
of the time to its first request).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from sandbox.inert import inert_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT = 1
"""Version of the event format. Raised when an old reader could misunderstand a new log."""


_KEEP_UNKNOWN = {"extra": "allow"}
"""Pydantic's configuration of every class here: fields that it does not know become attributes like the others."""


@dataclass(kw_only=True)
class Event:
    """What all events share. The log stamps them when it writes them.

    id: "e" and the place in the log, counted from 1; parent: the event before it
    time: seconds since the epoch
    """

    __pydantic_config__ = _KEEP_UNKNOWN

    v: int = FORMAT
    id: str = ""
    parent: str = ""
    time: float = 0.0
    kind: str


@dataclass(kw_only=True)
class SessionStart(Event):
    """The first event: where and how the session was opened. `system` is sent to models as it stands here."""

    kind: Literal["session"] = "session"
    session: str
    project: str
    model: str
    mode: str
    version: str
    system: str = ""


@dataclass(kw_only=True)
class Prompt(Event):
    """What a person (or a script on their behalf) asked for; starts a turn."""

    kind: Literal["prompt"] = "prompt"
    text: str


@dataclass(kw_only=True)
class Steer(Event):
    """What a person added while the turn was running; delivered after the batch of actions it fell into."""

    kind: Literal["steer"] = "steer"
    text: str


@dataclass(kw_only=True)
class AskedAction:
    """An action as it stands in a message. `raw` is kept only where it could not be parsed."""

    __pydantic_config__ = _KEEP_UNKNOWN

    id: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    raw: str = ""
    problem: str = ""


@dataclass(kw_only=True)
class Spent:
    """Tokens, dollars (None: price unknown) and seconds."""

    __pydantic_config__ = _KEEP_UNKNOWN

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    cost: float | None = None
    seconds: float = 0.0


@dataclass(kw_only=True)
class MessageEvent(Event):
    """One finished reply of a model. `partial`: it was interrupted, what had come is kept."""

    kind: Literal["message"] = "message"
    text: str = ""
    reasoning: str = ""
    actions: list[AskedAction] = field(default_factory=list)
    usage: Spent = field(default_factory=Spent)
    stop: str = "end"
    model: str = ""
    partial: bool = False


@dataclass(kw_only=True)
class ActionEvent(Event):
    """An action is about to run, with the effect it was judged by. `followed`: snapshots tell what it changes."""

    kind: Literal["action"] = "action"
    call: str
    tool: str
    effect: str
    paths: list[str] = field(default_factory=list)
    followed: bool = False


@dataclass(kw_only=True)
class DecisionEvent(Event):
    """A verdict other than a plain "allow", or one that a person gave."""

    kind: Literal["decision"] = "decision"
    call: str
    verdict: str
    reason: str
    by: Literal["policy", "person"] = "policy"


@dataclass(kw_only=True)
class ObservationEvent(Event):
    """What came back. `ref` names the artifact that holds the whole text; `shown` is what the model got."""

    kind: Literal["observation"] = "observation"
    call: str
    tool: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)
    ref: str = ""
    failed: bool = False
    seconds: float = 0.0


@dataclass(kw_only=True)
class SnapshotEvent(Event):
    """The tree of the workspace in the private object store, before the first write of a step and after its batch."""

    kind: Literal["snapshot"] = "snapshot"
    tree: str
    when: Literal["before", "after"]


UndoAction = Literal["undo", "redo", "rewind"]


@dataclass(kw_only=True)
class UndoEvent(Event):
    """Files were taken back (or brought back): ids of the snapshot events that end the steps, trees around it."""

    kind: Literal["undo"] = "undo"
    action: UndoAction
    steps: list[str]
    before: str
    after: str
    paths: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class PlanEvent(Event):
    """The plan as it stands now: (text, status) of each item."""

    kind: Literal["plan"] = "plan"
    items: list[tuple[str, str]]


@dataclass(kw_only=True)
class Compaction(Event):
    """From here on the projection leaves out the text of these observations (event ids)."""

    kind: Literal["compaction"] = "compaction"
    masked: list[str]
    tokens_before: int
    tokens_after: int
    reason: str


@dataclass(kw_only=True)
class Verification(Event):
    """What the harness itself checked at the end of a turn, and what came of it."""

    kind: Literal["verification"] = "verification"
    outcome: Literal["passed", "failed", "unverified", "not-needed"]
    detail: str
    report: dict[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True)
class Signal(Event):
    """Something worth telling that is no error: a retry, an interrupt, a limit coming near."""

    kind: Literal["signal"] = "signal"
    name: str
    detail: str = ""


@dataclass(kw_only=True)
class ErrorEvent(Event):
    """A failure that ended a step or the turn, in words for a person."""

    kind: Literal["error"] = "error"
    fault: str
    message: str
    hint: str = ""


@dataclass(kw_only=True)
class End(Event):
    """The last event of a turn, on every path out of it."""

    kind: Literal["end"] = "end"
    outcome: str
    exit_code: int = 0
    summary: str = ""
    steps: int = 0
    usage: Spent = field(default_factory=Spent)
    files: list[str] = field(default_factory=list)
    commit: str = ""
    verification: str = ""


@dataclass(kw_only=True)
class Unknown(Event):
    """An event of a kind that this version does not know: carried along, never interpreted."""


_KINDS: dict[str, type[Event]] = {
    "session": SessionStart,
    "prompt": Prompt,
    "steer": Steer,
    "message": MessageEvent,
    "action": ActionEvent,
    "decision": DecisionEvent,
    "observation": ObservationEvent,
    "snapshot": SnapshotEvent,
    "undo": UndoEvent,
    "plan": PlanEvent,
    "compaction": Compaction,
    "verification": Verification,
    "signal": Signal,
    "error": ErrorEvent,
    "end": End,
}


def parse(line: bytes) -> Event:
    """One line of a log → its event. Raises ValueError if it is not a JSON object of the right shape."""
    fields = json.loads(line)
    if not isinstance(fields, dict) or "kind" not in fields:
        raise ValueError("not an event")
    event: Event = _adapter(_KINDS.get(fields["kind"], Unknown)).validate_python(fields)
    return event


def fields_of(event: Event) -> dict[str, Any]:
    """An event's fields by name, unknown ones included, those without a value left out."""
    return {name: value for name, value in vars(event).items() if value is not None}


def render(event: Event) -> bytes:
    """An event → its line, with the newline. Non-ASCII text stays readable; what no text can hold becomes `?`."""
    return line_of(fields_of(event))


def line_of(fields: Mapping[str, Any]) -> bytes:
    """Fields as one line of JSON that can be looked at in a terminal. They may hold parts of events."""
    try:
        text = _dumps(fields)
    except (TypeError, ValueError):  # NaN, or a key that is no text: rare, so only then is all of it walked
        text = _dumps(_tame(fields))
    return inert_json(text).encode("utf-8", "replace") + b"\n"


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain, allow_nan=False)


def _adapter(kind: type[Event]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        from pydantic import TypeAdapter

        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


_ADAPTERS: dict[type[Event], TypeAdapter[Any]] = {}


def _plain(value: object) -> object:
    """What JSON has no form of: parts of events, paths, and what a tool's data should not have held."""
    if isinstance(value, AskedAction | Spent):
        return {name: each for name, each in vars(value).items() if each is not None}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    return repr(value)


def _tame(value: object) -> object:
    """The same with text for keys, and for the numbers that JSON does not know."""
    match value:
        case float() if not math.isfinite(value):
            return repr(value)
        case Mapping():
            return {key if isinstance(key, str) else repr(key): _tame(each) for key, each in value.items()}
        case list() | tuple():
            return [_tame(each) for each in value]
        case AskedAction() | Spent() | set() | frozenset():
            return _tame(_plain(value))
        case _:
            return value
