"""Live signals: a model that goes in circles is told so, once per cause, and then asked for another approach."""

from __future__ import annotations

from collections.abc import Sequence

from agent.events import Event, Prompt
from agent.monitor.answers import RequestAnswer, TellModel
from agent.monitor.monitor import Monitor
from agent.monitor.signals.session_steps import SessionStep, StepReader
from agent.monitor.signals.signal_detectors import (
    Detector,
    FoundSignal,
    LoopDetector,
    StagnationDetector,
    ThrashDetector,
)

REPLAN = (
    "You were told already. Change your approach now: list what you tried and what it showed, name one cause that you"
    " have not looked at, and begin with the smallest step that tells whether it is the one."
)
GIVE_UP = "This does not lead on. End the turn: say what is done, what is not, and what is in the way."

_REST = 6
"""Steps after a text to the model in which it hears nothing more: it needs them to change its way."""


class SignalMonitor(Monitor):
    """Tells the model of loops, stagnation and thrash: what was seen, then to replan, then to end."""

    _reader: StepReader
    _detectors: list[Detector]
    _found: FoundSignal | None
    _told: int
    _rest: int
    _last: tuple[str, str]

    def __init__(self) -> None:
        self._forget()

    def handle_event(self, event: Event) -> None:
        """Follow the session. A prompt begins anew: a person may ask for the same again."""
        if isinstance(event, Prompt):
            self._forget()
        step = self._reader.take_event(event)
        if step is not None:
            self._judge(step)

    def before_request(self) -> Sequence[RequestAnswer]:
        """Judge the step that has just ended; return what there is to say about it."""
        step = self._reader.end()
        if step is not None:
            self._judge(step)
        found, self._found = self._found, None
        if found is None:
            return ()
        text = (found.advice, REPLAN, GIVE_UP)[min(self._told, 2)]
        self._told += 1
        self._rest = _REST
        note = f"{found.name}: {found.detail}"
        return (TellModel(text=f"{found.detail[0].upper()}{found.detail[1:]}. {text}", note=note),)

    def _judge(self, step: SessionStep) -> None:
        self._rest -= 1
        reply = (step.text, step.asked)
        if reply == self._last:
            return  # equal replies are told by the recovery from faulty replies
        self._last = reply
        for detector in self._detectors:
            found = detector.take_step(step)
            if found is not None and self._found is None and self._rest <= 0:
                self._found = found

    def _forget(self) -> None:
        self._reader = StepReader()
        self._detectors = [LoopDetector(), StagnationDetector(), ThrashDetector()]
        self._found = None
        self._told = 0
        self._rest = 0
        self._last = ("", "")
