"""The events of a session log: versioned pydantic models, one JSON object a line.

Unknown fields survive a round trip, and so do events of unknown kinds, so that an older
program can read, fork and copy the log of a newer one without losing anything.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

FORMAT = 1
"""Version of the event format. Raised when an old reader could misunderstand a new log."""


class Event(BaseModel):
    """What all events share.

    id: "e" and the place in the log, counted from 1; parent: the event before it
    time: seconds since the epoch
    """

    # defer_build: a one-shot run uses five of these; building all of them would cost it 20 ms
    model_config = ConfigDict(extra="allow", defer_build=True)

    v: int = FORMAT
    id: str = ""
    parent: str = ""
    time: float = 0.0
    kind: str


class SessionStart(Event):
    """The first event: where and how the session was opened. `system` is sent to models as it stands here."""

    kind: Literal["session"] = "session"
    session: str
    project: str
    model: str
    mode: str
    version: str
    system: str = ""


class Prompt(Event):
    """What a person (or a script on their behalf) asked for; starts a turn."""

    kind: Literal["prompt"] = "prompt"
    text: str


class Steer(Event):
    """What a person added while the turn was running; delivered after the batch of actions it fell into."""

    kind: Literal["steer"] = "steer"
    text: str


class AskedAction(BaseModel):
    """An action as it stands in a message. `raw` is kept only where it could not be parsed."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    id: str
    tool: str
    arguments: dict[str, Any] = {}
    raw: str = ""
    problem: str = ""


class Spent(BaseModel):
    """Tokens, dollars (None: price unknown) and seconds."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    cost: float | None = None
    seconds: float = 0.0


class MessageEvent(Event):
    """One finished reply of a model. `partial`: it was interrupted, what had come is kept."""

    kind: Literal["message"] = "message"
    text: str = ""
    reasoning: str = ""
    actions: list[AskedAction] = []
    usage: Spent = Spent()
    stop: str = "end"
    model: str = ""
    partial: bool = False


class ActionEvent(Event):
    """An action is about to run, with the effect it was judged by."""

    kind: Literal["action"] = "action"
    call: str
    tool: str
    effect: str
    paths: list[str] = []


class DecisionEvent(Event):
    """A verdict other than a plain "allow", or one that a person gave."""

    kind: Literal["decision"] = "decision"
    call: str
    verdict: str
    reason: str
    by: Literal["policy", "person"] = "policy"


class ObservationEvent(Event):
    """What came back. `ref` names the artifact that holds the whole text; `shown` is what the model got."""

    kind: Literal["observation"] = "observation"
    call: str
    tool: str
    text: str
    data: dict[str, Any] = {}
    ref: str = ""
    failed: bool = False
    seconds: float = 0.0


class SnapshotEvent(Event):
    """The tree of the workspace in the private object store, before the first write of a step or at a turn's end."""

    kind: Literal["snapshot"] = "snapshot"
    tree: str
    when: Literal["before", "after"]


class PlanEvent(Event):
    """The plan as it stands now: (text, status) of each item."""

    kind: Literal["plan"] = "plan"
    items: list[tuple[str, str]]


class Compaction(Event):
    """From here on the projection leaves out the text of these observations (event ids)."""

    kind: Literal["compaction"] = "compaction"
    masked: list[str]
    tokens_before: int
    tokens_after: int
    reason: str


class Verification(Event):
    """What the harness itself checked at the end of a turn, and what came of it."""

    kind: Literal["verification"] = "verification"
    outcome: Literal["passed", "failed", "unverified", "not-needed"]
    detail: str
    report: dict[str, Any] = {}


class Signal(Event):
    """Something worth telling that is no error: a retry, an interrupt, a limit coming near."""

    kind: Literal["signal"] = "signal"
    name: str
    detail: str = ""


class ErrorEvent(Event):
    """A failure that ended a step or the turn, in words for a person."""

    kind: Literal["error"] = "error"
    fault: str
    message: str
    hint: str = ""


class End(Event):
    """The last event of a turn, on every path out of it."""

    kind: Literal["end"] = "end"
    outcome: str
    exit_code: int = 0
    summary: str = ""
    steps: int = 0
    usage: Spent = Spent()
    files: list[str] = []
    commit: str = ""
    verification: str = ""


class Unknown(Event):
    """An event of a kind that this version does not know: carried along, never interpreted."""


class _Kinds:
    """Kind → class, for parsing."""

    table: ClassVar[dict[str, type[Event]]] = {
        str(each.model_fields["kind"].default): each
        for each in (
            SessionStart,
            Prompt,
            Steer,
            MessageEvent,
            ActionEvent,
            DecisionEvent,
            ObservationEvent,
            SnapshotEvent,
            PlanEvent,
            Compaction,
            Verification,
            Signal,
            ErrorEvent,
            End,
        )
    }


def parse(line: bytes) -> Event:
    """One line of a log → its event. Raises ValueError if it is not a JSON object with a kind."""
    import json

    fields = json.loads(line)
    if not isinstance(fields, dict) or "kind" not in fields:
        raise ValueError("not an event")
    return _Kinds.table.get(fields["kind"], Unknown).model_validate(fields)


def render(event: Event) -> bytes:
    """An event → its line, with the newline. Non-ASCII text stays readable."""
    return event.model_dump_json(exclude_none=True).encode() + b"\n"
