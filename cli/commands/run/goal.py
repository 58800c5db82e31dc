"""One-shot run of a goal: turn after turn in one process, and the fields of its JSON result."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from typing import Any

from agent.events import End
from agent.exit_codes import Exit
from agent.goal_state import find_active_goal, set_goal
from agent.session_settings import SessionSettings, StrategySettings
from agent.strategy.strategy_table import choose_work
from agent.turn.runtime import Runtime
from cli.commands.run.final_event import list_end_signals
from cli.invocation import Invocation
from sandbox.extensions import load_extension


async def run_goal(
    runtime: Runtime,
    invocation: Invocation,
    settings: SessionSettings,
    strategy: StrategySettings,
    prompt: str | None,
    fields: dict[str, Any],
) -> End:
    """Set the goal that the invocation asks for, or go on with that of the session, and work on it to its end.

    prompt: text of a new goal, None to go on; fields: of the JSON result, to which `goal` is added
    """
    request = invocation.goal
    if prompt is not None and request is not None:
        state = set_goal(
            runtime,
            prompt,
            request.check,
            max_turns=request.max_turns,
            max_cost=settings.limits.max_cost,
            max_time=settings.limits.max_time if "max_time" in invocation.flags else None,
        )
    else:
        known = find_active_goal(runtime.session)
        assert known is not None, "a run goes on only with a goal that there is"
        state = known

    async def take_turn(text: str | None, notes: Sequence[str]) -> End:
        return await runtime.run_turn(text, choose_work(runtime, strategy, text), notes)

    goal_run = load_extension("goals", "run")(runtime=runtime, state=state, take_turn=take_turn)
    work: asyncio.Future[End | None] = asyncio.ensure_future(goal_run.run())
    _stop_between_turns(runtime, work)
    try:
        end = await work
    except asyncio.CancelledError:
        end = None
    fields["goal"] = {
        "text": state.start.text,
        "check": state.start.check,
        "turns": state.turn,
        "checks": [each.detail for each in state.checks],
        "reached": end is not None and end.exit_code in (Exit.DONE, Exit.NOTHING_TO_DO),
    }
    if end is not None:
        return end
    stopped = End(outcome=Exit.INTERRUPTED.label, exit_code=int(Exit.INTERRUPTED), summary="interrupted")
    runtime.session.append(stopped)
    return stopped


def _stop_between_turns(runtime: Runtime, work: asyncio.Future[End | None]) -> None:
    """Let the signals that end a turn also end the work while the check runs, where there is no turn."""
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        if not runtime.is_turn_running:
            work.cancel()
        elif number == signal.SIGINT:
            runtime.interrupt()
        else:
            runtime.stop()

    for number in (signal.SIGINT, *list_end_signals()):
        loop.add_signal_handler(number, stop, number)
