"""The decisions that searches share: how many attempts may follow, which are gone on from, which are put together.

Sessions are one way to make attempts; the benchmark's simulated author is another. Both keep this record, so that the
same code decides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, TypeVar

from agent.strategy.candidate import Candidate
from agent.strategy.progress import (
    has_progress,
    list_mended_tests,
    loses_tests,
    measure_progress,
    measure_report,
)
from agent.strategy.refinement import Step
from sandbox.lazy_dataclass import dataclass

AT_ONCE = 2
"""Attempts of one round. Fixed, so that a resumed turn makes the same ones wherever it runs."""

MERGES_PER_ATTEMPT = 2
"""Changes put together for each attempt of a model: they cost a run of the tests, and no model."""

_RAN = ("wrong behaviour", "broke others", "wrong place", "wrong approach")
"""Classes of failures with which the tests ran, so that one that does not fail has passed."""

P = TypeVar("P")
"""An attempt that is about to begin."""


@dataclass(slots=True, kw_only=True)
class SearchRecord(ABC, Generic[P]):
    """The attempts of one turn.

    limit: attempts of a model; before: report of the suite without a change
    steps: failed ones by number; values: how far each has come, from 0 to 1; lines: the numbers that led to each
    is_over: nothing has to be tried any more; is_deterministic: the author does the same in the same state
    """

    limit: int
    before: Mapping[str, Any] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)
    steps: dict[int, Step] = field(default_factory=dict)
    values: dict[int, float] = field(default_factory=dict)
    is_over: bool = False
    is_deterministic: bool = False
    _last: int = 0
    _merges: set[int] = field(default_factory=set)
    _mended: dict[int, frozenset[str]] = field(default_factory=dict)
    _lossy: set[int] = field(default_factory=set)

    @property
    def asked_attempts(self) -> int:
        """Attempts of a model that were begun."""
        return self._last - len(self._merges)

    @property
    def room(self) -> int:
        """How many attempts the next round may make: the first is made alone, since easy work gets one pass."""
        return min(self.limit - self.asked_attempts, AT_ONCE if self.asked_attempts else 1)

    @property
    def may_merge(self) -> bool:
        """Whether changes may be put together once more."""
        return len(self._merges) < MERGES_PER_ATTEMPT * self.asked_attempts

    def take_number(self, *, is_merge: bool = False) -> int:
        """Return the number of the next attempt. is_merge: no model works on it"""
        self._last += 1
        if is_merge:
            self._merges.add(self._last)
        return self._last

    def count_left(self, number: int) -> int:
        """Return how many attempts of a model may follow before the limit, from this one on."""
        made = number - sum(merge < number for merge in self._merges)
        return max(1, self.limit - made + 1)

    @abstractmethod
    def plan_start(self) -> P:
        """Return an attempt at the whole task that begins in its own way."""

    @abstractmethod
    def plan_retry(self, line: Sequence[int], beside: Sequence[int] = ()) -> P | None:
        """Return an attempt after the last of a line of failed ones; None if nothing new can be told.

        beside: attempts that went on from the same state before
        """

    @abstractmethod
    def plan_revision(self, numbers: Sequence[int]) -> P:
        """Return an attempt that begins anew, told of failed ones."""

    @abstractmethod
    async def plan_merge(self, one: int, other: int) -> P | None:
        """Return an attempt with the changes of two, for which no model is asked; None where they conflict."""

    @abstractmethod
    def plan_union(self, one: int, other: int) -> P:
        """Return an attempt that begins with one change, and is to bring in another one that conflicts with it."""

    @abstractmethod
    async def make(self, planned: Mapping[int, P]) -> list[Candidate]:
        """Make attempts side by side, by their numbers."""

    @abstractmethod
    async def value(self, candidate: Candidate, line: Sequence[int]) -> float:
        """Return how far a candidate has come, and keep it. line: the attempts that it went on from"""

    def record(
        self, candidate: Candidate, step: Step | None, after: Mapping[str, Any], *, is_solved: bool
    ) -> float:
        """Keep a candidate with its value, and return this.

        step: None if nothing fails; after: report of the suite with it, or with the earlier state of the step
        """
        if step is not None:
            self.steps[candidate.attempt] = step
        self.candidates.append(candidate)
        if step is not None:
            ran = step.earlier.report if step.earlier is not None else after
            self._mended[candidate.attempt] = list_mended_tests(self.before, ran)
            if loses_tests(self.before, ran):
                self._lossy.add(candidate.attempt)
        if step is not None and step.earlier is not None:
            value = measure_report(self.before, step.earlier.report)
        else:
            value = measure_progress(
                candidate, step.failure if step is not None else None, self.before, after
            )
        self.values[candidate.attempt] = value
        self.is_over |= is_solved
        return value

    def is_promising(self, number: int) -> bool:
        """Whether an attempt failed and its change is worth going on from: not where tests do not run any more."""
        step = self.steps.get(number)
        return (
            step is not None and number not in self._lossy and has_progress(self.values[number], step.failure)
        )

    def takes_guidance(self, number: int) -> bool:
        """Whether a person has said something about an attempt that the next one is to be told; not where it is
        stopped, or one that it goes on from."""
        return False

    def leave_out_stopped(self, numbers: Sequence[int]) -> list[int]:
        """Return the attempts that may be gone on from: a person stopped neither them nor one that they go on from."""
        return list(numbers)

    def get_opinion(self, number: int) -> float:
        """Return a judge's number on an attempt, 0 without one: it orders those that are equal by what ran."""
        return 0.0

    def list_failing(self, number: int) -> frozenset[str]:
        """Return the tests that fail with an attempt."""
        step = self.steps.get(number)
        return frozenset(each.id for each in step.failure.signatures) if step is not None else frozenset()

    def list_mended(self, number: int) -> set[str]:
        """Return the tests that failed without an attempt's change and pass with it, as far as they ran."""
        step = self.steps.get(number)
        if step is None or step.failure.kind not in _RAN or step.candidate.objection:
            return set()
        return set(self._mended.get(number, ()))
