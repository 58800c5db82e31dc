"""Serialization of events as lines of a log: JSON, validated by pydantic, migrated from older formats."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agent.events.child_events import ChildEvent, ChildProgress, FindingEvent, MergeEvent
from agent.events.event_base import FORMAT, AskedAction, Event, UnknownEvent, UsageRecord
from agent.events.goal_events import GoalEvent
from agent.events.history_events import Compaction, Fold, Fork, Rewind, Title
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
from sandbox.sanitize import sanitize_json

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


def collect_fields(event: Event) -> dict[str, Any]:
    """Return an event's fields by name, unknown ones included, those without a value omitted."""
    return {name: value for name, value in vars(event).items() if value is not None}


def render_event(event: Event) -> bytes:
    """Encode an event as a line with its newline. Non-ASCII text stays readable; lone surrogates become `?`."""
    return encode_line(collect_fields(event))


def encode_line(fields: Mapping[str, Any]) -> bytes:
    """Encode fields, which may contain parts of events, as one line of JSON that is safe to print in a terminal."""
    try:
        text = _encode_json(fields)
    except (TypeError, ValueError):  # NaN or a non-string key: rare, so only then all values are walked
        text = _encode_json(_sanitize_value(fields))
    return sanitize_json(text).encode("utf-8", "replace") + b"\n"


def _encode_json(value: object) -> str:
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), default=_convert_to_plain, allow_nan=False
    )


def _get_adapter(kind: type[Event]) -> TypeAdapter[Any]:
    if kind not in _ADAPTERS:
        from pydantic import TypeAdapter

        _ADAPTERS[kind] = TypeAdapter(kind)
    return _ADAPTERS[kind]


_ADAPTERS: dict[type[Event], TypeAdapter[Any]] = {}


def _convert_to_plain(value: object) -> object:
    """Convert values without a JSON form: parts of events, paths, unsupported values in a tool's data."""
    if isinstance(value, AskedAction | UsageRecord | Fold):
        return {name: each for name, each in vars(value).items() if each is not None}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    return repr(value)


def _sanitize_value(value: object) -> object:
    """Convert as `_convert_to_plain` does, with string keys and without numbers that JSON lacks."""
    match value:
        case float() if not math.isfinite(value):
            return repr(value)
        case Mapping():
            return {
                key if isinstance(key, str) else repr(key): _sanitize_value(each)
                for key, each in value.items()
            }
        case list() | tuple():
            return [_sanitize_value(each) for each in value]
        case AskedAction() | UsageRecord() | Fold() | set() | frozenset():
            return _sanitize_value(_convert_to_plain(value))
        case _:
            return value
