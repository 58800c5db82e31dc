"""`single`: the loop alone. Sessions without a strategy do the same without this object."""

from __future__ import annotations

from agent.monitor.answers import TurnEnd
from agent.strategy.strategy_turn import StrategyTurn


class Single:
    """The session's own loop as a strategy, for callers that are given one. Implements `Strategy`."""

    takes_advice = True

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """See `Strategy.run`."""
        return await turn.runtime.loop.run()
