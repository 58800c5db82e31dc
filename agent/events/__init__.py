"""Events of a session log: versioned, one JSON object per line, validated by pydantic when read.

Unknown fields survive a round trip, and so do events of unknown kinds, so that an older program can read,
fork and copy the log of a newer one without loss. Where it could misunderstand the log, the newer program
writes another format, which the older one refuses.

Events are plain dataclasses, so that a run that only writes them need not import pydantic (a third of the
time to its first request).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agent.events.event_base import FORMAT, AskedAction, Event, UnknownEvent, UsageRecord
from agent.events.history_events import Compaction, Feedback, Fold, Fork, Rewind, Title
from agent.events.serialization import collect_fields, encode_line, render_event
from agent.events.turn_events import (
    LEAD,
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
    UndoAction,
    UndoEvent,
    VerdictEvent,
    Verification,
)

if TYPE_CHECKING:
    from agent.events.child_events import ChildEvent, ChildProgress, FindingEvent, MergeEvent
    from agent.events.goal_events import GoalEvent
    from agent.events.monitor_events import ChainEvent
    from agent.events.parsing import NewerFormat, parse_event
    from agent.events.strategy_events import (
        BY_STRATEGY,
        AttemptEvent,
        CandidateEvent,
        ChoiceEvent,
        GuidanceEvent,
        StopAttemptEvent,
    )
    from agent.events.verify_events import RequirementsEvent, RubricEvent, SpecCheckEvent

__all__ = [
    "BY_STRATEGY",
    "FORMAT",
    "LEAD",
    "ActionEvent",
    "AskedAction",
    "AttemptEvent",
    "CandidateEvent",
    "ChainEvent",
    "ChildEvent",
    "ChildProgress",
    "ChoiceEvent",
    "Compaction",
    "DecisionEvent",
    "End",
    "ErrorEvent",
    "Event",
    "Feedback",
    "FindingEvent",
    "Fold",
    "Fork",
    "GoalEvent",
    "GuidanceEvent",
    "MergeEvent",
    "MessageEvent",
    "NewerFormat",
    "ObservationEvent",
    "PhaseEvent",
    "PlanEvent",
    "Prompt",
    "RequirementsEvent",
    "Rewind",
    "RubricEvent",
    "RuleEvent",
    "SessionStart",
    "SideCall",
    "Signal",
    "SnapshotEvent",
    "SpecCheckEvent",
    "Steer",
    "StopAttemptEvent",
    "Title",
    "UndoAction",
    "UndoEvent",
    "UnknownEvent",
    "UsageRecord",
    "VerdictEvent",
    "Verification",
    "collect_fields",
    "encode_line",
    "parse_event",
    "render_event",
]

_LATE = {
    "ChildEvent": "child_events",
    "ChildProgress": "child_events",
    "FindingEvent": "child_events",
    "MergeEvent": "child_events",
    "GoalEvent": "goal_events",
    "ChainEvent": "monitor_events",
    "NewerFormat": "parsing",
    "parse_event": "parsing",
    "AttemptEvent": "strategy_events",
    "BY_STRATEGY": "strategy_events",
    "CandidateEvent": "strategy_events",
    "ChoiceEvent": "strategy_events",
    "GuidanceEvent": "strategy_events",
    "StopAttemptEvent": "strategy_events",
    "RequirementsEvent": "verify_events",
    "RubricEvent": "verify_events",
    "SpecCheckEvent": "verify_events",
}
"""Module of each name that few sessions need: it is imported when it is first asked for."""


def __getattr__(name: str) -> Any:
    if (module := _LATE.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"agent.events.{module}"), name)
    return found
