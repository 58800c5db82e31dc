"""Attempts of a search: begun anew or after others, valued by what ran, and known by their numbers after a kill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent.children.spec import ChildSpec
from agent.strategy.candidate import Candidate
from agent.strategy.refinement import Refinement, Step
from agent.strategy.sampling.diversity import list_starting_places, vary_attempt
from agent.strategy.sampling.stopping import explain_stop, read_outcome
from agent.strategy.search.progress import has_progress, measure_progress
from agent.strategy.strategy_settings import StrategySettings
from agent.strategy.strategy_turn import Equip, StrategyTurn

_RAN = ("wrong behaviour", "broke others", "wrong place", "wrong approach")
"""Classes of failures with which the tests ran, so that one that does not fail has passed."""

AT_ONCE = 2
"""Attempts of one round. Fixed, so that a resumed turn makes the same ones wherever it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An attempt that is about to begin. after: the one that it goes on from, 0 for none; equip: prepares its child"""

    spec: ChildSpec
    hint: str = ""
    after: int = 0
    equip: Equip | None = None


@dataclass(slots=True, kw_only=True)
class SearchWork:
    """The attempts of one turn.

    base: commit that all begin with; steps: failed ones by number; values: how far each has come, from 0 to 1
    is_over: nothing has to be tried any more
    """

    turn: StrategyTurn
    settings: StrategySettings
    base: str
    candidates: list[Candidate] = field(default_factory=list)
    steps: dict[int, Step] = field(default_factory=dict)
    values: dict[int, float] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    is_over: bool = False
    refinement: Refinement = field(init=False)
    _places: list[str] = field(default_factory=list)
    _starts: int = 0
    _last: int = 0

    async def begin(self) -> None:
        """Run the suite once, and find the places at which attempts begin."""
        self.turn.check_prices(self.settings.models)
        self.refinement = Refinement(self.turn)
        self.before = await self.refinement.read_base_report()
        if self.settings.attempts > 2 and not self.settings.hints:
            self._places = await list_starting_places(self.turn)

    @property
    def room(self) -> int:
        """How many attempts the next round may make: the first is made alone, since easy work gets one pass."""
        return min(self.settings.attempts - self._last, AT_ONCE if self._last else 1)

    def take_number(self) -> int:
        """Return the number of the next attempt."""
        self._last += 1
        return self._last

    def plan_start(self) -> Plan:
        """Return an attempt at the whole task that begins in its own way."""
        self._starts += 1
        given = vary_attempt(self._starts, self.settings, self._places)
        model = vary_attempt(
            self._last + 1, self.settings, ()
        ).model  # by the attempt's number, as in `sample`
        spec = self.build_spec(self.turn.prompt, model=model, temperature=given.temperature)
        return Plan(spec=replace(spec, instructions=given.hint), hint=given.hint)

    def plan_retry(self, line: Sequence[int], beside: Sequence[int] = ()) -> Plan | None:
        """Return an attempt after the last of a line of failed ones; None if nothing new can be told.

        beside: attempts that went on from the same state before
        """
        failed = [self.steps[number] for number in line if number in self.steps]
        if not line or line[-1] not in self.steps:
            return None
        others = [self.steps[number] for number in beside if number in self.steps]
        keeps = has_progress(self.values[line[-1]], self.steps[line[-1]].failure)
        retry = self.refinement.plan_retry(failed, others, has_progress=keeps)
        if retry is None:
            return None
        given = vary_attempt(self._last + 1, self.settings, ())
        spec = self.build_spec(retry.prompt, model=given.model, temperature=given.temperature)
        return Plan(
            spec=replace(spec, patch=retry.patch), hint=retry.hint, after=line[-1] if retry.patch else 0
        )

    def build_spec(self, prompt: str, *, model: str = "", temperature: float | None = None) -> ChildSpec:
        """Return the spec of an attempt at the whole task in a worktree."""
        return ChildSpec(
            prompt=prompt,
            model=model,
            temperature=temperature,
            limits=self.turn.build_limits(),
            place="worktree",
            base=self.base,
        )

    async def make(self, planned: Mapping[int, Plan]) -> list[Candidate]:
        """Make attempts side by side, by their numbers."""
        return await self.turn.gather([self._attempt(number, plan) for number, plan in planned.items()])

    async def value(self, candidate: Candidate, line: Sequence[int]) -> float:
        """Return how far a candidate has come. line: the failed attempts that it went on from"""
        known = [self.steps[number] for number in line if number in self.steps]
        failure = await self.refinement.diagnose(candidate, known)
        after = self.refinement.read_report(candidate) if failure is not None else {}
        if failure is not None:
            self.steps[candidate.attempt] = Step(candidate=candidate, failure=failure)
        self.candidates.append(candidate)
        value = measure_progress(candidate, failure, self.before, after)
        self.values[candidate.attempt] = value
        is_solved = await self.refinement.is_solved(candidate)
        self.is_over |= is_solved or self._last >= self.settings.attempts or self._is_enough()
        return value

    def list_failing(self, number: int) -> frozenset[str]:
        """Return the tests that fail with an attempt."""
        step = self.steps.get(number)
        return frozenset(each.id for each in step.failure.signatures) if step is not None else frozenset()

    def list_mended(self, number: int) -> set[str]:
        """Return the tests that failed without an attempt's change and pass with it, as far as they ran."""
        step = self.steps.get(number)
        if step is None or step.failure.kind not in _RAN:
            return set()
        return {str(each.get("id")) for each in self.before.get("failures", ())} - self.list_failing(number)

    async def _attempt(self, number: int, plan: Plan) -> Candidate:
        async with self.turn.slots:
            share = self.turn.divide_budget(max(1, self.settings.attempts - number + 1))
            spec = replace(plan.spec, share=share)
            return await self.turn.attempt(number, spec, hint=plan.hint, after=plan.after, equip=plan.equip)

    def _is_enough(self) -> bool:
        """Whether attempts agree so far that no test has to tell which is right; asked where none failed before."""
        if self.before.get("failures"):
            return False
        made = [
            read_outcome(each, self.turn.read_patch(each), self.list_failing(each.attempt))
            for each in self.candidates
        ]
        return bool(explain_stop(made))
