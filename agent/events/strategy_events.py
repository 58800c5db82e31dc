"""Events of a turn that a strategy makes of child sessions, in the log of the session that has the turn."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from agent.events.event_base import Event, UsageRecord
from sandbox.lazy_dataclass import dataclass

BY_STRATEGY = "strategy:"
"""Prefix of the model of a message that a strategy wrote: no model was called for it."""


@dataclass(kw_only=True)
class AttemptEvent(Event):
    """A child session has begun an attempt at the task. Its end is a candidate with the same number.

    number: counted from 1; child: its session id; strategy: name of the one that started it
    base: commit that its worktree begins with; hint: what it was told beside the task
    after: number of the attempt whose change it goes on from, 0 for none
    directions: how many of the person's (`guidance`, `attempt-stop`) the decision for it knew
    model, temperature: those asked for, "" and None for the session's own
    """

    kind: Literal["attempt"] = "attempt"
    number: int
    child: str
    strategy: str = ""
    base: str = ""
    model: str = ""
    temperature: float | None = None
    hint: str = ""
    after: int = 0
    directions: int = 0


@dataclass(kw_only=True)
class CandidateEvent(Event):
    """What an attempt came to. The verdicts on it are the events before it with its number.

    child: "" if no session could be started
    patch: reference of the artifact with its changes, "" if there are none; lines: changed by it
    weakened_tests: how many; changes_tests: whether it changes files with tests
    failing_tests: names of the tests that fail at its end, at most 200; [] where they are not named
    """

    kind: Literal["candidate"] = "candidate"
    attempt: int
    child: str = ""
    outcome: str = ""
    exit_code: int = -1
    report: str = ""
    verification: str = ""
    patch: str = ""
    files: list[str] = field(default_factory=list)
    lines: int = 0
    weakened_tests: int = 0
    changes_tests: bool = False
    failing_tests: list[str] = field(default_factory=list)
    usage: UsageRecord = field(default_factory=UsageRecord)
    seconds: float = 0.0


@dataclass(kw_only=True)
class ChoiceEvent(Event):
    """A candidate was chosen. order: numbers of all attempts, the best first; reason: why the first is

    confidence: estimated probability that it is right, None where nothing tells
    abstained: why the evidence does not carry the choice, "" if it does; the first of the order is taken anyway
    by: "person" where a person took it in place of the one that the strategy had chosen
    """

    kind: Literal["choice"] = "choice"
    attempt: int
    child: str = ""
    order: list[int] = field(default_factory=list)
    reason: str = ""
    confidence: float | None = None
    abstained: str = ""
    by: Literal["strategy", "person"] = "strategy"


@dataclass(kw_only=True)
class GuidanceEvent(Event):
    """A person's words for an attempt: it is told them while it runs, and so are those that go on from it."""

    kind: Literal["guidance"] = "guidance"
    attempt: int
    text: str


@dataclass(kw_only=True)
class StopAttemptEvent(Event):
    """A person stopped an attempt: it ends, with those that go on from it, and nothing more goes on from it."""

    kind: Literal["attempt-stop"] = "attempt-stop"
    attempt: int
