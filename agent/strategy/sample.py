"""`sample`: several attempts at one task, each a child session in its own worktree; the best patch is applied.

The session treats that change like any other: it can be undone, is tested again in the workspace, and a commit
contains it and none of the user's changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from agent.children.spec import ChildSpec
from agent.monitor.answers import TurnEnd
from agent.strategy.best_candidate import apply_best
from agent.strategy.candidate import Candidate
from agent.strategy.strategy_settings import StrategySettings
from agent.strategy.strategy_turn import StrategyTurn

Value = TypeVar("Value")


@dataclass(slots=True)
class Sample:
    """Independent attempts, of which executed tests choose one. Implements `Strategy`."""

    settings: StrategySettings
    takes_advice: bool = False

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """See `Strategy.run`."""
        turn.check_prices(self.settings.models)
        base = await turn.commit_files()
        numbers = range(1, self.settings.attempts + 1)
        waiting = [number for number in numbers if not turn.is_done(number)]
        candidates = await turn.gather([self._attempt(turn, number, base, waiting) for number in numbers])
        return await apply_best(turn, candidates)

    async def _attempt(self, turn: StrategyTurn, number: int, base: str, waiting: list[int]) -> Candidate:
        """Make one attempt. waiting: those that have not begun, which share what is left of the budget"""
        async with turn.slots:
            share = None
            if number in waiting:
                share = turn.divide_budget(len(waiting))
                waiting.remove(number)
            given, hint = self.settings, _cycle(self.settings.hints, number) or ""
            spec = ChildSpec(
                prompt=turn.prompt,
                instructions=hint,
                model=_cycle(given.models, number) or "",
                temperature=_cycle(given.temperatures, number),
                limits=turn.build_limits(),
                share=share,
                place="worktree",
                base=base,
            )
            return await turn.attempt(number, spec, hint=hint)


def _cycle(values: Sequence[Value], number: int) -> Value | None:
    """Return the value of an attempt, None if none are given."""
    return values[(number - 1) % len(values)] if values else None
