"""Time and usage of a turn before a kill, read from the log, so that a budget holds for all its parts together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path

from agent.events import (
    ActionEvent,
    AttemptEvent,
    CandidateEvent,
    ChildEvent,
    ChoiceEvent,
    Event,
    MessageEvent,
    Prompt,
    SideCall,
    Signal,
    UsageRecord,
    VerdictEvent,
    Verification,
)
from agent.session.log import read_events
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

RESUMED = "resumed-turn"
"""Name of the signal that keeps the seconds of all parts before it: the time between two parts is not the turn's."""

_PASSED = compile_lazily(r"(\d{1,12}(?:\.\d+)?) s of the turn had passed")

_WORK = (
    Prompt, ActionEvent, AttemptEvent, CandidateEvent, ChildEvent, ChoiceEvent, MessageEvent, SideCall, VerdictEvent,
    Verification,
)  # fmt: skip
"""Events of a turn at work; others may be logged when the session is opened again, after any time."""

MOST_LEVELS = 4
"""Levels of children of children whose logs are read: no session starts more."""


@dataclass(slots=True)
class EarlierPart:
    """Parts of a turn in processes before this one.

    seconds: of work; usage: of the session's own calls and of its children, without its attempts
    """

    seconds: float = 0.0
    usage: UsageRecord = field(default_factory=UsageRecord)

    def to_signal(self) -> Signal:
        """Return the event that keeps the time."""
        return Signal(name=RESUMED, detail=f"{self.seconds:.1f} s of the turn had passed")


def read_earlier_part(events: Iterable[Event], sessions: Path, taken_up: float) -> EarlierPart:
    """Read the events of a turn from its prompt on.

    sessions: folder with the logs of its children; taken_up: when this process began with it, seconds since the epoch
    """
    found, attempts = EarlierPart(), set[str]()
    before = [each for each in events if each.time < taken_up]
    begun = last = before[0].time if before else 0.0
    for event in before:
        match event:
            case Signal(name=name) if name == RESUMED:
                passed = _PASSED.fullmatch(event.detail)
                found.seconds, begun = float(passed[1]) if passed else found.seconds, event.time
                last = begun
            case AttemptEvent():
                attempts.add(event.child)
        if isinstance(event, _WORK):
            last = max(last, event.time)
    lost = _find_lost(before)
    for each in lost:  # the log of a session that waits for them is silent
        last = max([last, *(event.time for event in _read_log(sessions, each) if event.time < taken_up)])
    found.seconds += max(0.0, last - begun)
    found.usage = _sum_usage(before, sessions, attempts)
    return found


def _find_lost(events: Iterable[Event]) -> list[str]:
    """Return the children whose last turn has no end, or one without its usage: it was cancelled."""
    lost: dict[str, None] = {}
    for event in events:
        if isinstance(event, ChildEvent):
            if event.state == "started" or event.outcome == "interrupted":
                lost[event.child] = None
            else:
                lost.pop(event.child, None)
    return list(lost)


def _sum_usage(
    events: Iterable[Event], sessions: Path, excluding: Iterable[str] = (), level: int = 0
) -> UsageRecord:
    """Return the usage of a session's own calls and of its children, those in `excluding` left out."""
    total, ended = UsageRecord(), dict[str, UsageRecord]()
    events = list(events)
    skipped = set(excluding)
    for event in events:
        match event:
            case MessageEvent() | SideCall():
                total.add(event.usage)
            case ChildEvent() if event.child in skipped:
                continue
            case ChildEvent(state="started") if event.child in ended:  # asked again, with a purse of its own
                total.add(ended.pop(event.child))
            case ChildEvent(state="ended"):
                ended[event.child] = event.usage  # of all turns since it was started
    for child in _find_lost(events):
        if child not in skipped:
            ended.pop(child, None)
            if level < MOST_LEVELS:
                total.add(_sum_usage(_read_log(sessions, child), sessions, level=level + 1))
    for usage in ended.values():
        total.add(usage)
    return total


def _read_log(sessions: Path, session: str) -> Iterator[Event]:
    """Yield the events of a child's log; none where it was deleted or is damaged."""
    if not session or "/" in session:
        return
    try:
        yield from read_events(sessions / session)
    except (OSError, UserError):
        return
