"""`evolve`: a population of attempts that is revised, recombined and refined (SE-Agent).

Whole trajectories are the material: where two attempts mend different tests, their changes and findings are put
together; the best one is refined; the one that leads nowhere is revised with the facts of all. A population keeps one
attempt for each set of tests that fail, so that it stays diverse.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.monitor.answers import TurnEnd
from agent.strategy.best_candidate import apply_best
from agent.strategy.candidate import Candidate
from agent.strategy.refinement import Step
from agent.strategy.search.fixed_reply import answer_without_model
from agent.strategy.search.search_work import Plan, SearchWork
from agent.strategy.strategy_settings import StrategySettings
from agent.strategy.strategy_turn import StrategyTurn
from agent.strategy.team.tree_states import build_patch, commit_changes, merge_commits
from tools.core.text import join_names
from tools.git.git_process import Git, GitFailed

FOUNDERS = 3
"""Attempts that begin anew before any is gone on from."""

MOST_KEPT = 4
"""Attempts of a population: the best one of each set of failing tests."""


@dataclass(slots=True)
class Evolve:
    """A population of attempts. Implements `Strategy`."""

    settings: StrategySettings
    takes_advice: bool = False

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """See `Strategy.run`."""
        work = SearchWork(turn=turn, settings=self.settings, base=await turn.commit_files())
        await work.begin()
        evolution = Evolution(work)
        while not work.is_over and await evolution.make_round():
            pass
        return await apply_best(turn, work.candidates, work.refinement.is_right)


class Evolution:
    """The population of one turn. lines: the attempts that led to each, itself the last"""

    def __init__(self, work: SearchWork) -> None:
        self._work = work
        self._lines: dict[int, list[int]] = {}
        self._pairs: set[tuple[int, int]] = set()
        self._refined: set[int] = set()

    async def make_round(self) -> int:
        """Make the next attempts, and value them; return how many there were."""
        work, plans, lines = self._work, dict[int, Plan](), dict[int, list[int]]()
        for _ in range(work.room):
            plan, line = await self._plan_next(len(plans))
            number = work.take_number()
            plans[number], lines[number] = plan, line
        for candidate in await work.make(plans):
            line = lines[candidate.attempt]
            await work.value(candidate, line)
            self._lines[candidate.attempt] = [*line, candidate.attempt]
        return len(plans)

    async def _plan_next(self, begun: int) -> tuple[Plan, list[int]]:
        """Return the next attempt and the line that it goes on from. begun: attempts of this round before it"""
        population = self._select_population()
        for one, other in itertools.combinations(population, 2):
            if (one, other) not in self._pairs and self._complement(one, other):
                self._pairs.add((one, other))
                return await self._recombine(one, other), self._lines[one]
        founders = sum(len(line) == 1 for line in self._lines.values())
        if not population or (founders < FOUNDERS and begun == 0):
            return self._work.plan_start(), []
        for number in population:
            if number not in self._refined:
                self._refined.add(number)
                if (plan := self._work.plan_retry(self._lines[number])) is not None:
                    return plan, self._lines[number]
        return self._revise(population), []

    def _select_population(self) -> list[int]:
        """Return the best attempt of each set of failing tests, the best first."""
        ordered = sorted(self._lines, key=lambda number: (-self._work.values[number], number))
        kept: dict[frozenset[str], int] = {}
        for number in ordered:
            kept.setdefault(self._work.list_failing(number), number)
        return list(kept.values())[:MOST_KEPT]

    def _complement(self, one: int, other: int) -> bool:
        """Whether each of two attempts mends a test that the other one does not."""
        mended, others = self._work.list_mended(one), self._work.list_mended(other)
        return bool(mended - others) and bool(others - mended)

    async def _recombine(self, one: int, other: int) -> Plan:
        """Return an attempt with the changes of both; a model is asked only where they conflict."""
        work, turn = self._work, self._work.turn
        first, second = (turn.read_patch(self._get_candidate(number)) for number in (one, other))
        hint = f"attempts {one} and {other} put together"
        git = await turn.children.worktrees.open_git()
        try:
            patch = await asyncio.to_thread(_merge_patches, git, work.base, first, second)
        except GitFailed:
            prompt = work.refinement.word_recombination([work.steps[one], work.steps[other]], second)
            return Plan(spec=replace(work.build_spec(prompt), patch=first), hint=hint, after=one)
        spec = replace(work.build_spec(VERIFY), patch=patch)
        return Plan(spec=spec, hint=hint, after=one, equip=answer_without_model)

    def _revise(self, population: Sequence[int]) -> Plan:
        """Return a new beginning that is told what the population did, and how it failed."""
        work = self._work
        steps = [work.steps[number] for number in population if number in work.steps]
        plan = work.plan_start()
        prompt = work.refinement.word_revision(steps)
        return replace(plan, spec=replace(plan.spec, prompt=prompt), hint=f"revision of {_name(steps)}")

    def _get_candidate(self, number: int) -> Candidate:
        return next(each for each in self._work.candidates if each.attempt == number)


VERIFY = "Make all tests pass."
"""Prompt of a session in which no model works: it lets the harness run the tests of files that it did not change."""


def _merge_patches(git: Git, base: str, first: bytes, second: bytes) -> bytes:
    """Return both changes as one. Blocking. Raises GitFailed where they conflict."""
    commits = [commit_changes(git, base, patch, base) for patch in (first, second)]
    return build_patch(git, base, merge_commits(git, commits))


def _name(steps: Sequence[Step]) -> str:
    return join_names([str(each.candidate.attempt) for each in steps], MOST_KEPT)
