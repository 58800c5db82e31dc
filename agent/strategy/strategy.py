"""Protocol of a strategy, and the turn that one makes.

A strategy starts child sessions and decides what becomes of the turn. It needs nothing from the loop, and the loop,
the log and the views know no strategy: they see attempts, candidates, verdicts and a choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Protocol

from agent.children.children import Children
from agent.events import End
from agent.monitor.answers import TurnEnd
from agent.strategy.strategy_settings import StrategySettings
from agent.strategy.strategy_turn import StrategyTurn
from agent.turn.runtime import Runtime


class Strategy(Protocol):
    """How a turn is made.

    takes_advice: run again when a verifier fails, with its advice in the loop's inbox
    """

    takes_advice: bool

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """Fill the turn; after a kill, do so again: attempts that had ended return at once."""


class StrategyWork:
    """A strategy in place of the loop of one session. Implements `TurnWork`."""

    def __init__(self, runtime: Runtime, strategy: Strategy, settings: StrategySettings) -> None:
        self._runtime = runtime
        self._strategy = strategy
        self._settings = settings
        self._has_run = False

    @property
    def settings(self) -> Mapping[str, Any]:
        """See `TurnWork.settings`."""
        return asdict(self._settings)

    @property
    def takes_advice(self) -> bool:
        """See `TurnWork.takes_advice`."""
        return self._strategy.takes_advice

    async def run(self) -> TurnEnd:
        """See `TurnWork.run`."""
        children = Children(self._runtime)
        turn = StrategyTurn(self._settings.name, self._runtime, children, is_first=not self._has_run)
        self._has_run = True
        try:
            return await self._strategy.run(turn)
        finally:
            turn.close()
            await children.close()


async def run_strategy(
    runtime: Runtime, strategy: Strategy, prompt: str | None, settings: StrategySettings
) -> End:
    """Run one turn by a strategy; see `Runtime.run_turn`. settings: logged with the prompt"""
    return await runtime.run_turn(prompt, StrategyWork(runtime, strategy, settings))
