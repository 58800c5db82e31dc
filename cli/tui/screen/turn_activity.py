"""What the working line says while a turn runs: the action or that the model thinks, tests so far, tokens, the plan."""

from __future__ import annotations

import time
from collections.abc import Callable

from agent.events import (
    ActionEvent,
    End,
    Event,
    MessageEvent,
    ObservationEvent,
    PlanEvent,
    Prompt,
    Verification,
)
from cli.tui.frontend import Frontend
from cli.tui.screen.suite_progress import TestProgress
from cli.tui.screen.working_line import describe_doing
from sandbox.sanitize import sanitize_text

THINKING = "Thinking"
"""Activity while the model has the turn."""

LONG = 10.0
"""Seconds of a turn after which the user is alerted at its end."""


class TurnActivity:
    """The activity of the running turn. get_target: returns the target of a call, by its id"""

    def __init__(self, front: Frontend, get_target: Callable[[str], str]) -> None:
        self._front = front
        self._get_target = get_target
        self._tests: TestProgress | None = None
        self._started, self._waited, self._tokens = 0.0, 0.0, 0
        self._doing = ""

    def handle_event(self, event: Event) -> None:
        """Show what is done after an event."""
        match event:
            case ActionEvent():
                self._doing = describe_doing(event.tool, sanitize_text(self._get_target(event.call)))
                self._front.show_activity(self._doing)
                self._tests = TestProgress() if event.tool == "run_tests" else None
            case PlanEvent():
                self._front.show_plan(event.items)
            case Prompt():
                self._started, self._tokens = time.monotonic(), 0
                self._waited = self._front.waiting.seconds
                self._front.show_activity(THINKING)
            case MessageEvent():
                self._tokens += event.usage.input + event.usage.output
                self._front.show_tokens(self._tokens)
                self._front.show_activity(THINKING)
            case ObservationEvent():
                self._front.show_activity(THINKING)
            case Verification():
                self._front.show_activity("Finishing")
            case End():  # the conversation clears the activity: the next prompt must not come too early
                self._front.show_activity("Finishing")
                self._front.show_plan(())
                if time.monotonic() - self._started > LONG:
                    self._front.alert(f"done: {event.outcome}")

    def show_progress(self, line: str) -> None:
        """Show the last line of a command's output, or how many tests have ended."""
        if self._tests is not None and (counts := self._tests.count_line(line)):
            self._front.show_activity(f"{self._doing} {counts}")
            self._front.show_last_output("")
        else:
            self._front.show_last_output(sanitize_text(line).replace("\t", " "))

    def end_action(self) -> None:
        """Show no output of an action that has ended."""
        self._tests = None
        self._front.show_last_output("")

    def compute_waited(self) -> float:
        """Return the seconds of the turn in which the person was waited for."""
        return self._front.waiting.seconds - self._waited
