"""The line above the prompt while work goes on: what is done, for how long, and how to stop it."""

from __future__ import annotations

import time
from dataclasses import field
from math import ceil
from typing import TYPE_CHECKING

from cli.output.amounts import format_duration, format_tokens
from cli.output.style.terminal import measure_columns, truncate_text
from cli.tui.frontend import Styled
from cli.tui.questions.waiting_time import WaitingTime
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.model.protocol import RetryWait

WAITING = "Waiting for you"
"""Activity while a question waits for the person."""

SPINNER = "◐◓◑◒"
"""One step a second: shows progress without flicker."""

_DOINGS = {
    "read": "Reading", "list": "Listing", "search": "Searching", "code": "Looking up",
    "edit": "Editing", "edit_symbol": "Editing", "edit_lines": "Editing", "edit_several": "Editing",
    "apply_patch": "Applying a patch", "write": "Writing", "rename": "Renaming", "shell": "Running",
    "process": "Running in the background", "python": "Running Python", "run_tests": "Running tests",
    "plan": "Planning", "git_status": "Looking at git", "git_diff": "Looking at changes", "git_commit": "Committing",
    "git_bisect": "Bisecting", "localize": "Localizing the fault", "why_failing": "Comparing failing runs",
    "repair": "Repairing", "recall": "Recalling", "delegate": "Delegating", "ask_user": WAITING,
}  # fmt: skip
"""What a tool does; others are named as they are."""


def describe_doing(tool: str, target: str) -> str:
    """Return what an action does, in one line: "Editing a.py"."""
    doing = _DOINGS.get(tool, tool)
    about = "" if tool in ("plan", "ask_user") else target
    return f"{doing} {about}".strip().replace("\n", " ").replace("\t", " ")


@dataclass(slots=True, kw_only=True)
class WorkingLine:
    """What is done now. `waiting`: the time that is not counted.

    tokens: used by the turn so far
    """

    waiting: WaitingTime
    doing: str = ""
    tokens: int = 0
    _retry: RetryWait | None = field(default=None, init=False)
    _again: float = field(default=0.0, init=False)
    _since: float = field(default=0.0, init=False)
    _waited: float = field(default=0.0, init=False)

    def begin(self, doing: str) -> bool:
        """Show another activity, "" for none; return whether it is another. The clock starts with the first one."""
        if doing == self.doing:
            return False
        self._retry = None
        if not self.doing:
            self._since, self._waited, self.tokens = time.monotonic(), self.waiting.seconds, 0
        self.doing = doing
        return True

    def wait_for_retry(self, wait: RetryWait) -> None:
        """Show in place of the activity, from now on, when a request is sent again."""
        self._retry, self._again = wait, time.monotonic() + wait.seconds

    def _describe_retry(self) -> str:
        """Return why and when a request is sent again; "" if it was."""
        left = self._again - time.monotonic()
        if self._retry is None or left <= 0:
            return ""
        wait = self._retry
        return (
            f"{wait.reason.capitalize()} · again in {ceil(left)} s · attempt {wait.attempt} of {wait.tries}"
        )

    @property
    def seconds(self) -> float:
        """Seconds of work so far."""
        return max(time.monotonic() - self._since - (self.waiting.seconds - self._waited), 0.0)

    def format(self, columns: int, *, unicode: bool) -> Styled:
        """Return the line, of at most `columns` columns; how to stop is left out first."""
        seconds, is_waiting = self.seconds, self.waiting.is_running
        sign = ("?" if is_waiting else SPINNER[int(seconds) % len(SPINNER)]) if unicode else "*"
        facts = [
            format_duration(int(seconds)).replace(".0", "") if seconds >= 1 else "",
            f"{format_tokens(self.tokens)} tokens" if self.tokens else "",
            "" if is_waiting else "esc to stop",
        ]
        doing = WAITING if is_waiting else self._describe_retry() or self.doing
        told = [each for each in facts if each]
        while told and columns < 2 + min(measure_columns(doing), _LEAST) + _measure(told):
            told.pop()
        tail = "".join(f" · {each}" for each in told)
        room = max(columns - 2 - measure_columns(tail), 1)
        return [("class:busy", f"{sign} {truncate_text(doing, room)}"), ("class:dim", tail)]


_LEAST = 24
"""Columns of an activity for which other facts are left out."""


def _measure(facts: list[str]) -> int:
    return sum(3 + len(each) for each in facts)
