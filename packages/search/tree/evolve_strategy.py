"""`evolve`: a population of attempts that is revised, recombined and refined (SE-Agent).

Whole trajectories are the material: where two attempts mend different tests, their changes and findings are put
together; the best one is refined; the one that leads nowhere is revised with the facts of all. A population keeps one
attempt for each set of tests that fail, so that it stays diverse.
"""

from __future__ import annotations

import itertools
from typing import Generic

from agent.monitor.answers import TurnEnd
from agent.session_settings import StrategySettings
from agent.strategy.best_candidate import apply_best
from agent.strategy.strategy_turn import StrategyTurn
from packages.search.tree.search_record import P, SearchRecord
from packages.search.tree.search_work import SearchWork
from sandbox.lazy_dataclass import dataclass

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
        work = await SearchWork.create(turn, self.settings)
        evolution = Evolution(work)
        while not work.is_over and await evolution.make_round():
            pass
        return await apply_best(turn, work.candidates, work.refinement)


class Evolution(Generic[P]):
    """The population of one turn. lines: the attempts that led to each, itself the last"""

    def __init__(self, work: SearchRecord[P]) -> None:
        self._work = work
        self._lines: dict[int, list[int]] = {}
        self._pairs: set[tuple[int, int]] = set()
        self._conflicts: list[tuple[int, int]] = []
        self._refined: set[int] = set()

    async def make_round(self) -> int:
        """Make the next attempts, and value them; return how many there were. Those without a model come first."""
        work = self._work
        plans, lines = await self._plan_merges()
        if not plans:
            for _ in range(work.room):
                if (following := self._plan_next(len(plans))) is None:
                    break
                plan, line = following
                number = work.take_number()
                plans[number], lines[number] = plan, line
        for candidate in await work.make(plans):
            line = lines[candidate.attempt]
            await work.value(candidate, line)
            self._lines[candidate.attempt] = [*line, candidate.attempt]
        return len(plans)

    async def _plan_merges(self) -> tuple[dict[int, P], dict[int, list[int]]]:
        """Return the pairs that complement each other and were not put together yet, with the lines they go on from."""
        work, plans, lines = self._work, dict[int, P](), dict[int, list[int]]()
        for one, other in itertools.combinations(self._select_population(), 2):
            if not work.may_merge or (one, other) in self._pairs or not self._complement(one, other):
                continue
            self._pairs.add((one, other))
            plan = await work.plan_merge(one, other)
            if plan is None:
                self._conflicts.append((one, other))
                continue
            number = work.take_number(is_merge=True)
            plans[number], lines[number] = plan, self._join_lines(one, other)
        return plans, lines

    def _plan_next(self, begun: int) -> tuple[P, list[int]] | None:
        """Return the next attempt and the line that it goes on from; None if it would repeat an earlier one.

        begun: attempts of this round before it
        """
        for number, line in self._lines.items():
            guided = self._work.takes_guidance(number)
            if guided and (plan := self._work.plan_retry(line)) is not None:
                return plan, line
        population = self._select_population()
        while self._conflicts:
            pair = self._conflicts.pop(0)
            if len(self._work.leave_out_stopped(pair)) == len(pair):
                return self._work.plan_union(*pair), self._join_lines(*pair)
        founders = sum(len(line) == 1 for line in self._lines.values())
        if not population or (founders < FOUNDERS and begun == 0 and not self._work.is_deterministic):
            return self._work.plan_start(), []
        for number in population:
            if number not in self._refined:
                self._refined.add(number)
                if (plan := self._work.plan_retry(self._lines[number])) is not None:
                    return plan, self._lines[number]
        return None if self._work.is_deterministic else (self._work.plan_revision(population), [])

    def _select_population(self) -> list[int]:
        """Return the best attempt of each set of failing tests, the best first."""
        work = self._work
        ordered = sorted(
            self._lines, key=lambda number: (-work.values[number], -work.get_opinion(number), number)
        )
        kept: dict[frozenset[str], int] = {}
        for number in self._work.leave_out_stopped(ordered):
            kept.setdefault(self._work.list_failing(number), number)
        return list(kept.values())[:MOST_KEPT]

    def _join_lines(self, one: int, other: int) -> list[int]:
        return list(dict.fromkeys([*self._lines[other], *self._lines[one]]))

    def _complement(self, one: int, other: int) -> bool:
        """Whether each of two attempts mends a test that the other one does not."""
        mended, others = self._work.list_mended(one), self._work.list_mended(other)
        return bool(mended - others) and bool(others - mended)
