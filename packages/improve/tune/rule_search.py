"""Search for the rules of a guideline that solve most tasks: one rule is added or left out at a time.

Rules mostly act for themselves, so that a search by single changes needs some evaluations for each rule, where drawing
sets of rules needs as many as there are sets. What it finds is a proposal: the held-out tasks decide (`tuning.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field

from sandbox.lazy_dataclass import dataclass

MOST_PASSES = 3
"""Passes over all rules: the second finds what helps only beside others, the third seldom anything."""

Evaluate = Callable[[tuple[str, ...]], Awaitable[float]]
"""Returns the share of tasks that are solved with rules, in their order."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One set of rules, or lines of a strategy, that was evaluated."""

    rules: tuple[str, ...]
    score: float


@dataclass(slots=True, kw_only=True)
class RuleSearch:
    """A search. rules: to choose from; most: evaluations; tried: all of them, in order"""

    rules: Sequence[str]
    evaluate: Evaluate
    most: int = 200
    tell: Callable[[str], None] = lambda line: None
    tried: list[Trial] = field(default_factory=list)

    async def run(self, start: Sequence[str] = ()) -> Trial:
        """Return the best set. start: rules of the guideline as it is"""
        best = await self._score(tuple(start))
        for _ in range(MOST_PASSES):
            before = best
            for rule in dict.fromkeys((*self.rules, *start)):
                if len(self.tried) >= self.most:
                    return best
                chosen = best.rules
                flipped = (
                    tuple(each for each in chosen if each != rule) if rule in chosen else (*chosen, rule)
                )
                trial = await self._score(flipped)
                # Of equal guidelines the shorter one: each rule costs tokens in every session.
                if (trial.score, -len(trial.rules)) > (best.score, -len(best.rules)):
                    best = trial
            if best is before:
                break
        return best

    async def _score(self, rules: tuple[str, ...]) -> Trial:
        known = next((each for each in self.tried if set(each.rules) == set(rules)), None)
        if known is None:
            known = Trial(rules, await self.evaluate(rules))
            self.tried.append(known)
            self.tell(f"{len(rules)} rules: {known.score:.1%} of the tasks")
        return known
