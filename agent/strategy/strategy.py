"""Protocol of a strategy, and the turn that one makes.

A strategy starts child sessions and decides what becomes of the turn. It needs nothing from the loop, and the loop,
the log and the views know no strategy: they see attempts, candidates, verdicts and a choice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from agent.budget.budget_text import Budget, parse_budget
from agent.children.children import Children
from agent.events import End
from agent.monitor.answers import TurnEnd
from agent.session_settings import StrategySettings
from agent.strategy.single import limit_turn
from agent.strategy.strategy_turn import StrategyTurn
from agent.turn.runtime import Runtime

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from agent.children.executor import RemotePlaces


class Strategy(Protocol):
    """How a turn is made.

    takes_advice: run again when a verifier fails, with its advice in the loop's inbox
    """

    takes_advice: bool

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """Fill the turn; after a kill, do so again: attempts that had ended return at once."""


class StrategyWork:
    """A strategy in place of the loop of one session. Implements `TurnWork`.

    is_resumed: the turn began in another process
    """

    def __init__(
        self, runtime: Runtime, strategy: Strategy, settings: StrategySettings, *, is_resumed: bool = False
    ) -> None:
        self._runtime = runtime
        self._strategy = strategy
        self._settings = settings
        self._is_resumed = is_resumed
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
        limit_turn(self._runtime, self._settings.budget)
        if self._is_resumed and not self._has_run:
            await self._count_earlier_part()
        async with AsyncExitStack() as stack:
            remote = await stack.enter_async_context(self._connect_cluster()) if self._settings.ray else None
            children = Children(self._runtime, {} if remote is None else {"remote": remote})
            stack.push_async_callback(children.close)
            turn = StrategyTurn(
                self._settings.name,
                self._runtime,
                children,
                is_first=not self._has_run,
                remote_slots=0 if remote is None else remote.slots,
            )
            stack.callback(turn.close)
            self._has_run = True
            return await self._strategy.run(turn)

    def _connect_cluster(self) -> AbstractAsyncContextManager[RemotePlaces]:
        from sandbox.extensions import load_extension

        environment = self._runtime.environment
        assert environment is not None, "Children refuses a session without settings"
        connect: Callable[..., AbstractAsyncContextManager[RemotePlaces]] = load_extension("executors", "ray")
        return connect(
            self._settings.ray,
            self._settings.ray_env,
            environment.request.env,
            self._runtime.settings.access.sandbox,
            environment.home,
        )

    async def _count_earlier_part(self) -> None:
        """Charge the turn with what it took before a kill; its attempts are charged by `StrategyTurn`."""
        from agent.strategy.earlier_part import read_earlier_part

        session, purse = self._runtime.session, self._runtime.purse
        taken_up = time.time() - (time.monotonic() - purse.tally.start_time)
        events = session.replayed.read_events_from(f"e{session.replayed.find_newest_place('prompt')}")
        earlier = await asyncio.to_thread(read_earlier_part, events, session.folder.parent, taken_up)
        purse.add_usage(earlier.usage)
        if self._budget.seconds is not None:
            purse.tally.start_time -= earlier.seconds
            session.append(earlier.to_signal())

    @property
    def _budget(self) -> Budget:
        """The budget with which the turn began, none if nobody can read it."""
        try:
            return parse_budget(self._settings.budget)
        except ValueError:  # of a log that somebody wrote
            return Budget()


async def run_strategy(
    runtime: Runtime, strategy: Strategy, prompt: str | None, settings: StrategySettings
) -> End:
    """Run one turn by a strategy; see `Runtime.run_turn`. settings: logged with the prompt"""
    work = StrategyWork(runtime, strategy, settings, is_resumed=prompt is None)
    return await runtime.run_turn(prompt, work)
