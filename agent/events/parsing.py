"""Parsing of a log's lines into events: validated by pydantic, migrated from older formats."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agent.events.child_events import ChildEvent, ChildProgress, FindingEvent, MergeEvent
from agent.events.event_base import FORMAT, Event, UnknownEvent
from agent.events.goal_events import GoalEvent
from agent.events.history_events import Compaction, Feedback, Fork, Rewind, Title
from agent.events.monitor_events import ChainEvent
from agent.events.strategy_events import (
    AttemptEvent,
    CandidateEvent,
    ChoiceEvent,
    GuidanceEvent,
    StopAttemptEvent,
)
from agent.events.turn_events import (
    ActionEvent,
    DecisionEvent,
    End,
    ErrorEvent,
    MessageEvent,
    ObservationEvent,
    PhaseEvent,
    PlanEvent,
    Prompt,
    RuleEvent,
    SessionStart,
    SideCall,
    Signal,
    SnapshotEvent,
    Steer,
    UndoEvent,
    VerdictEvent,
    Verification,
)
from agent.events.verify_events import RequirementsEvent, RubricEvent, SpecCheckEvent
from sandbox.errors import Fault, UserError
from sandbox.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from pydantic import TypeAdapter

KINDS: dict[str, type[Event]] = {
    "session": SessionStart,
    "prompt": Prompt,
    "steer": Steer,
    "message": MessageEvent,
    "side-call": SideCall,
    "action": ActionEvent,
    "decision": DecisionEvent,
    "observation": ObservationEvent,
    "snapshot": SnapshotEvent,
    "undo": UndoEvent,
    "phase": PhaseEvent,
    "rule": RuleEvent,
    "plan": PlanEvent,
    "compaction": Compaction,
    "verification": Verification,
    "verdict": VerdictEvent,
    "signal": Signal,
    "error": ErrorEvent,
    "end": End,
    "rewind": Rewind,
    "fork": Fork,
    "title": Title,
    "feedback": Feedback,
    "child": ChildEvent,
    "merge": MergeEvent,
    "finding": FindingEvent,
    "chain": ChainEvent,
    "child-progress": ChildProgress,
    "attempt": AttemptEvent,
    "candidate": CandidateEvent,
    "choice": ChoiceEvent,
    "guidance": GuidanceEvent,
    "attempt-stop": StopAttemptEvent,
    "requirements": RequirementsEvent,
    "spec-check": SpecCheckEvent,
    "rubric": RubricEvent,
    "goal": GoalEvent,
}


class NewerFormat(UserError, ValueError):
    """The event is of a newer format, which this program could misread."""

    def __init__(self, version: int) -> None:
        super().__init__(
            Fault.CONFIGURATION,
            f"the session was written by a newer Patchwright (format {version}, this one knows {FORMAT})",
            "Update Patchwright. The session is left as it is.",
        )


_OURS = compile_lazily(rb'\{"v":%d,"id":"\w*","parent":"\w*","time":[0-9.]+,"kind":"([a-z-]+)"' % FORMAT)
"""Prefix of a line in the present format: it gives the kind before the line is parsed."""


def parse_event(line: bytes) -> Event:
    """Parse one line of a log. Raises ValueError, and nothing else, if it is no event; NewerFormat, one of them."""
    try:
        event = _parse_fast(line) or _parse_with_migration(line)
    except ValueError:
        raise
    except (TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise ValueError(f"not an event: {error}") from None
    if not 0 <= event.time < _LATEST:  # no date; also not a number
        raise ValueError(f"not a time: {event.time!r}")
    return event


_LATEST = 1e11
"""Seconds: the year 5138. Later ones are no dates everywhere."""


def _parse_fast(line: bytes) -> Event | None:
    """Parse and validate in one pydantic call, in half the time; return None if that fails."""
    begun = _OURS.match(line)
    kind = KINDS.get(begun[1].decode()) if begun else None
    if kind is None:
        return None
    try:
        event: Event = _get_adapter(kind).validate_json(line)
    except ValueError:  # JSON that pydantic rejects, e.g. a lone surrogate, or a real error
        return None
    return event if event.v == FORMAT else None


def _parse_with_migration(line: bytes) -> Event:
    fields = json.loads(line)
    if not isinstance(fields, dict) or "kind" not in fields:
        raise ValueError("not an event")
    version = fields.get("v", 1)
    if not isinstance(version, int):
        raise ValueError(f"not a version: {version!r}")
    if version > FORMAT:
        raise NewerFormat(version)
    if version < FORMAT:
        _migrate_fields(fields)
    event: Event = _get_adapter(KINDS.get(fields["kind"], UnknownEvent)).validate_python(fields)
    return event


def _migrate_fields(fields: dict[str, Any]) -> None:
    """Migrate an event to the present format, version by version. Most fields are the same in all."""
    for version in range(max(int(fields.get("v", 1)), 1), FORMAT):
        if change := _MIGRATIONS.get((version, fields["kind"])):
            change(fields)
            fields["v"] = version + 1


def _migrate_compaction_v1(fields: dict[str, Any]) -> None:
    """Migrate the list of masked observations to a mapping to the text sent for each."""
    fields["masked"] = dict.fromkeys(fields.get("masked", ()), "")


_MIGRATIONS: dict[tuple[int, str], Callable[[dict[str, Any]], None]] = {
    (1, "compaction"): _migrate_compaction_v1
}
"""By version and kind: the migration of an event to the next version."""


def _get_adapter(kind: type[Event]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        from pydantic import TypeAdapter

        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


_ADAPTERS: dict[type[Event], TypeAdapter[Any]] = {}
