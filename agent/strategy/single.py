"""`single`: the loop alone. Sessions without a strategy and without a budget do the same without these objects."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agent.budget.budget_text import parse_budget
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.monitor.answers import TurnEnd
    from agent.strategy.strategy_turn import StrategyTurn
    from agent.turn.runtime import Runtime


class Single:
    """The session's own loop as a strategy, for callers that are given one. Implements `Strategy`."""

    takes_advice = True

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """See `Strategy.run`."""
        return await turn.runtime.loop.run()


@dataclass(slots=True)
class BudgetedLoop:
    """The loop within a budget, which the prompt's event keeps. Implements `TurnWork`."""

    runtime: Runtime
    budget: str
    takes_advice: bool = True

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `TurnWork.settings`."""
        return {"name": "single", "budget": self.budget}

    async def run(self) -> TurnEnd:
        """See `TurnWork.run`."""
        limit_turn(self.runtime, self.budget)
        return await self.runtime.loop.run()


def limit_turn(runtime: Runtime, text: str) -> None:
    """Let the budget with which a turn began hold for it, after a kill, too; "" changes nothing."""
    with suppress(ValueError):  # of a log that somebody wrote
        runtime.purse.limit_turn(parse_budget(text))
