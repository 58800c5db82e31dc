"""Steps of sessions that a benchmark makes or reads, as the events of a log and as the detectors see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agent.events import ActionEvent, Event, MessageEvent, ObservationEvent, SnapshotEvent
from agent.events.event_base import AskedAction
from agent.monitor.signals.session_steps import SessionStep, StepReader
from agent.monitor.signals.signal_detectors import FoundSignal, create_detectors


class Step(NamedTuple):
    """A reply with one action, and what came back. tree: that of the files after it, "" if none was taken"""

    tool: str
    arguments: Mapping[str, Any]
    effect: str
    output: str
    failed: bool = False
    tree: str = ""


def iterate_events(steps: Sequence[Step]) -> Iterator[Event]:
    """Yield the events of steps, one action each."""
    for number, step in enumerate(steps, 1):
        call = f"c{number}"
        asked = AskedAction(id=call, tool=step.tool, arguments=dict(step.arguments))
        yield MessageEvent(id=f"e{number}", actions=[asked])
        yield ActionEvent(call=call, tool=step.tool, effect=step.effect)
        yield ObservationEvent(call=call, tool=step.tool, text=step.output, failed=step.failed)
        if step.tree:
            yield SnapshotEvent(tree=step.tree, when="after")


def iterate_signals(events: Iterable[Event]) -> Iterator[FoundSignal]:
    """Yield what each detector sees in the steps of these events."""
    detectors = create_detectors()
    for step in iterate_steps(events):
        for detector in detectors:
            if (found := detector.take_step(step)) is not None:
                yield found


def iterate_steps(events: Iterable[Event]) -> Iterator[SessionStep]:
    """Yield the steps of these events, the last one, too."""
    reader = StepReader()
    for event in events:
        if (step := reader.take_event(event)) is not None:
            yield step
    if (step := reader.end()) is not None:
        yield step
