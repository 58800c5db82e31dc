"""Tuning of a guideline or a strategy by a suite: one half of the tasks chooses it, the other half decides about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256

from packages.evaluation.analysis.comparison import Comparison, compare_results
from packages.evaluation.runs.trial_result import TrialResult
from packages.improve.tune.rule_search import RuleSearch, Trial
from packages.improve.tune.strategy_search import EvaluateTasks, StrategySearch
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

RunTasks = Callable[[Sequence[str], tuple[str, ...]], Awaitable[Sequence[TrialResult]]]
"""Runs tasks, by name, with rules or a strategy's lines, and returns the results of their trials."""

MakeSearch = Callable[[EvaluateTasks, Sequence[str]], RuleSearch | StrategySearch]
"""Returns a search by the tasks that choose."""


@dataclass(slots=True, kw_only=True)
class Tuning:
    """A tuning.

    tasks: names of all; start: rules of the guideline, or lines of the strategy, as it is
    comparison: of the found one with the start on the held-out tasks, None where nothing was found
    """

    tasks: Sequence[str]
    start: Sequence[str]
    run_tasks: RunTasks
    make_search: MakeSearch
    comparison: Comparison | None = None
    search: RuleSearch | StrategySearch | None = None
    cost: float = 0.0
    trials: int = 0

    async def run(self) -> Trial | None:
        """Return what is better on the held-out tasks, None where the paired test does not say so."""
        development, held_out = split_tasks(self.tasks)

        async def evaluate(chosen: tuple[str, ...], tasks: Sequence[str]) -> Sequence[float]:
            found = [float(each.solved) for each in await self._run(tasks, chosen) if each.is_valid]
            if not found and len(tasks) == len(development):
                raise UserError(Fault.CONFIGURATION, "no trial of the suite has a valid result")
            return found

        self.search = self.make_search(evaluate, development)
        best = await self.search.run(self.start)
        if set(best.rules) == set(self.start):
            return None
        before = await self._run(held_out, tuple(self.start))
        after = await self._run(held_out, best.rules)
        self.comparison = compare_results("as it is", "tuned", before, after)
        return best if self.comparison.verdict == "better" else None

    async def _run(self, tasks: Sequence[str], rules: tuple[str, ...]) -> Sequence[TrialResult]:
        results = await self.run_tasks(tasks, rules)
        self.trials += len(results)
        self.cost += sum(each.cost or 0.0 for each in results)
        return results


def split_tasks(tasks: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return two halves of the tasks, the same ones in each run: to choose by, and held out."""
    if len(tasks) < 2:
        raise UserError(Fault.USAGE, "a suite of one task cannot be split: half of the tasks is held out")
    order = sorted(tasks, key=lambda name: sha256(name.encode()).digest())
    return sorted(order[::2]), sorted(order[1::2])
