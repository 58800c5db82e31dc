"""Search for the strategy that solves most tasks: bred from the best ones, tried on a few tasks before all of them.

A new one differs from the best in a part or two, or has parts of two good ones (ADAS: Hu et al., arXiv 2408.08435;
AgentSwift: Li et al., arXiv 2506.06017). A quarter of the tasks stands for all of them first, and the better half goes
on, to twice as many (successive halving: Jamieson and Talwalkar, arXiv 1502.07943).
"""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field

from packages.improve.tune.rule_search import Trial
from packages.improve.tune.strategy_parts import RELEVANT, Parts
from sandbox.lazy_dataclass import dataclass

BORN, ELITES = 8, 4
"""Strategies of a generation, and the best ones whose parts are put together."""

FIRST_SHARE = 0.25
"""Share of the tasks on which all of a generation are tried."""

CROSSED, PAIRED = 0.2, 0.2
"""Shares of strategies with parts of two good ones, and of those with two changes at once."""

Lines = tuple[str, ...]

EvaluateTasks = Callable[[Lines, Sequence[str]], Awaitable[Sequence[float]]]
"""Returns what the valid trials of tasks, by name, scored with a strategy."""


@dataclass(slots=True, kw_only=True)
class StrategySearch:
    """A search.

    parts: to choose from; name: of the strategy without any, as TOML; tasks: names of those that choose
    most: evaluations, of all tasks each; tried: strategies that ran on all tasks, in order; screened: on some
    """

    parts: Parts
    name: str
    tasks: Sequence[str]
    evaluate: EvaluateTasks
    most: int = 200
    seed: int = 0
    tell: Callable[[str], None] = lambda line: None
    tried: list[Trial] = field(default_factory=list)
    screened: int = 0
    spent: float = 0.0
    _scores: dict[Lines, list[float]] = field(default_factory=dict)
    _reached: dict[Lines, int] = field(default_factory=dict)

    async def run(self, start: Sequence[str] = ()) -> Trial:
        """Return the best strategy, behind which a pass through all changes found no better one.

        start: lines of the one as it is
        """
        draw = random.Random(self.seed)
        self.tasks = draw.sample(self.tasks, len(self.tasks))
        elites = [await self._score_fully(self._order(start))]
        changes: list[tuple[str, str]] = []
        has_gained = True
        while self.spent < self.most and (changes or has_gained):
            best = elites[0]
            if not changes:
                changes, has_gained = self._list_changes(best.rules), False
                draw.shuffle(changes)
            for lines in await self._choose_finalists(self._breed(draw, elites, changes), best.rules):
                if self.spent < self.most:
                    elites.append(await self._score_fully(lines))
            # Of equal strategies the simpler one, and of equally simple ones the older.
            elites = sorted(elites, key=lambda each: (-each.score, len(each.rules)))[:ELITES]
            has_gained = has_gained or elites[0] is not best
        return elites[0]

    def _list_changes(self, lines: Lines) -> list[tuple[str, str]]:
        """Return the values that a strategy can be given, "" for each that it has to leave out."""
        known = [(key, "") for key in _split(lines)]
        return known + [(key, value) for key, values in self.parts.items() for value in values]

    def _breed(
        self, draw: random.Random, elites: Sequence[Trial], changes: list[tuple[str, str]]
    ) -> list[Lines]:
        """Return strategies that were not tried yet; the changes that they have are taken from the list."""
        found: dict[Lines, None] = {}
        while changes and len(found) < BORN:
            parts, chance = _split(elites[0].rules), draw.random()
            if chance < CROSSED and len(elites) > 1:
                other = _split(draw.choice(elites[1:]).rules)
                parts = {key: draw.choice((parts, other)).get(key, "") for key in parts | other}
            elif chance > 1 - PAIRED:
                parts |= draw.choices(self._list_changes(elites[0].rules), k=2)
            else:
                parts |= [changes.pop()]
            child = self._order([f"{key} = {value}" for key, value in parts.items() if value])
            if child not in self._reached:
                found[child] = None
        return list(found)

    async def _choose_finalists(self, born: Sequence[Lines], best: Lines) -> list[Lines]:
        """Return those that are better than the best one on half of the tasks, or as good and simpler.

        On a quarter all that are as good go on, and of the better half those that are at most a task behind.
        """
        share, left = FIRST_SHARE, list(born)
        while left and share < 1 and self.spent < self.most:
            count = math.ceil(share * len(self.tasks))
            for lines in left:
                await self._extend(lines, count)
            known = sum(self._scores[best][:count]) / max(1, len(self._scores[best][:count]))
            ranked = sorted(left, key=lambda each: (-self._get_score(each), len(each)))
            if share > FIRST_SHARE:
                left = [x for x in ranked if (self._get_score(x), len(best)) > (known, len(x))]
            else:
                slack = [1 / count if rank < len(ranked) / 2 else 0.0 for rank in range(len(ranked))]
                left = [
                    x for x, less in zip(ranked, slack, strict=True) if self._get_score(x) >= known - less
                ]
            share *= 2
        self.screened += len(born) - len(left)
        return left

    async def _score_fully(self, lines: Lines) -> Trial:
        await self._extend(lines, len(self.tasks))
        trial = Trial(lines, self._get_score(lines))
        self.tried.append(trial)
        self.tell(f"{', '.join(lines) or 'as it is'}: {trial.score:.1%} of the tasks")
        return trial

    async def _extend(self, lines: Lines, count: int) -> None:
        """Run a strategy on the first tasks, as far as it has not run on them yet."""
        begun = self._reached.get(lines, 0)
        if begun < count:
            self._scores.setdefault(lines, []).extend(await self.evaluate(lines, self.tasks[begun:count]))
            self._reached[lines] = count
            self.spent += (count - begun) / len(self.tasks)

    def _get_score(self, lines: Lines) -> float:
        scores = self._scores[lines]
        return sum(scores) / len(scores) if scores else 0.0

    def _order(self, lines: Sequence[str]) -> Lines:
        """Return the lines in one order, without those that their strategy does not read."""
        found = _split(lines)
        name = found.get("strategy.name", self.name)
        return tuple(f"{key} = {found[key]}" for key in sorted(found) if name in RELEVANT.get(key, (name,)))


def _split(lines: Sequence[str]) -> dict[str, str]:
    return dict(each.split(" = ", 1) for each in lines)
