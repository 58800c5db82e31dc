"""Candidate: what one attempt came to, as strategies compare it and as the log keeps it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, fields

from agent.events import CandidateEvent, UsageRecord, VerdictEvent
from agent.exit_codes import Exit
from agent.verify.verdict import Verdict
from sandbox.lazy_dataclass import dataclass
from tools.core.text import format_count

GUARD = "weakened-tests"
"""Name of the verifier whose failing verdict makes the tests of an attempt worth nothing."""

SURPLUS = "not needed any more"
"""Beginning of the report of an attempt that was cancelled since others are enough."""

STOPPED = "stopped by you"
"""Report of an attempt that a person stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Result of one attempt.

    attempt: its number; child: its session id, "" if none could be started
    patch: reference of the artifact with its changes to the files of the turn's beginning, "" if there are none
    lines: changed by it; weakened_tests: how many; changes_tests: whether it changes files with tests
    failing_tests: names of those that fail at its end
    verdicts: of the child's own verifiers, and of others that a strategy asked
    """

    attempt: int
    child: str = ""
    outcome: str = ""
    exit_code: int = int(Exit.INTERNAL)
    report: str = ""
    verification: str = ""
    patch: str = ""
    files: tuple[str, ...] = ()
    lines: int = 0
    weakened_tests: int = 0
    changes_tests: bool = False
    failing_tests: tuple[str, ...] = ()
    usage: UsageRecord = field(default_factory=UsageRecord)
    seconds: float = 0.0
    verdicts: tuple[Verdict, ...] = ()

    @classmethod
    def create_refused(cls, attempt: int, reason: str) -> Candidate:
        """Return the result of an attempt that the budget did not pay for: nothing began, and no log keeps it."""
        return cls(attempt=attempt, outcome=Exit.LIMIT.label, exit_code=int(Exit.LIMIT), report=reason)

    @property
    def is_refused(self) -> bool:
        """Whether the budget did not pay for its start."""
        return not self.child and self.exit_code == Exit.LIMIT

    @property
    def objection(self) -> str:
        """Why nothing may rest on it, whatever the tests say: it weakens them or gets round them; "" if it does not."""
        for each in self.verdicts:
            if each.name == GUARD and each.is_failure:
                first = next(iter(each.detail.strip().splitlines()), "")
                return f"it makes tests pass without mending the code: {first.strip()}"
        return f"it weakens {format_count(self.weakened_tests, 'test')}" if self.weakened_tests else ""

    def count_tests(self, kind: str) -> int:
        """Return how many tests "passed", "failed", were "skipped" … at its end, if known."""
        said = self.verification.partition(";")[0]
        found = re.search(rf"(\d+) {kind}", said)
        return int(found[1]) if found else 0

    def to_event(self) -> CandidateEvent:
        """Return the event that ends the attempt in the log."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "verdicts"}
        lists = {"files": list(self.files), "failing_tests": list(self.failing_tests)}
        return CandidateEvent(**{**values, **lists})

    @classmethod
    def from_event(cls, event: CandidateEvent, verdicts: Sequence[Verdict]) -> Candidate:
        """Return the candidate that an event keeps, with the verdicts logged before it."""
        values = {each.name: getattr(event, each.name) for each in fields(cls) if each.name != "verdicts"}
        tuples = {"files": tuple(event.files), "failing_tests": tuple(event.failing_tests)}
        return cls(**{**values, **tuples}, verdicts=tuple(verdicts))

    @property
    def is_surplus(self) -> bool:
        """Whether it was cancelled since others were enough; a model may write the same words, but ends otherwise."""
        return self.exit_code == Exit.INTERRUPTED and self.report.startswith(SURPLUS)

    @property
    def is_stopped(self) -> bool:
        """Whether a person stopped it."""
        return self.exit_code == Exit.INTERRUPTED and self.report == STOPPED


def read_verdict(event: VerdictEvent) -> Verdict:
    """Return the verdict that an event keeps."""
    return Verdict(
        outcome=event.outcome,
        evidence=event.evidence,
        name=event.name,
        detail=event.detail,
        artifacts=tuple(event.artifacts),
    )


def build_objection(detail: str) -> Verdict:
    """Return the guard's verdict on an attempt whose tests pass and prove nothing. detail: why"""
    return Verdict(outcome="fail", evidence="executed", name=GUARD, detail=detail)


def create_verdict_event(verdict: Verdict, attempt: int) -> VerdictEvent:
    """Return the event of a verdict on an attempt."""
    return VerdictEvent(
        name=verdict.name,
        outcome=verdict.outcome,
        evidence=verdict.evidence,
        detail=verdict.detail,
        artifacts=list(verdict.artifacts),
        attempt=attempt,
    )


def describe_candidate(candidate: Candidate | CandidateEvent) -> str:
    """Return one line about a candidate: verification, changes, weakened tests and time."""
    is_stopped = candidate.exit_code == Exit.INTERRUPTED and candidate.report == STOPPED
    told = STOPPED if is_stopped else candidate.verification or candidate.outcome or "internal"
    changed = format_count(len(candidate.files), "file") if candidate.patch else "nothing changed"
    weak = f", {format_count(candidate.weakened_tests, 'test')} weakened" if candidate.weakened_tests else ""
    return f"attempt {candidate.attempt}: {told}; {changed}{weak}; {candidate.seconds:.0f} s"
