"""Attempts side by side that end as soon as one more would not be worth its price."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from agent.children.gather import finish_anyway
from agent.events import Signal
from agent.strategy.candidate import Candidate
from agent.strategy.strategy_turn import StrategyTurn

STOP = "strategy"
"""Name of the signal that says why no more attempts were made."""

FindStop = Callable[[Sequence[Candidate]], Awaitable[str]]
"""Returns why the candidates so far are enough, "" if they are not."""


async def race_attempts(
    turn: StrategyTurn, attempts: Mapping[int, Callable[[], Awaitable[Candidate]]], find_stop: FindStop
) -> list[Candidate]:
    """Make attempts until their evidence is enough; those under way are cancelled then, and logged as such.

    attempts: by number, each started as soon as a processor is free. Returns the candidates in this order, without
    those that were cancelled before the turn was resumed, and those that the budget did not pay for.
    """
    running = {asyncio.ensure_future(begin()): number for number, begin in attempts.items()}
    order = list(attempts)
    done: dict[int, Candidate] = {}
    why = ""
    try:
        while running and not why:
            ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(ended, key=lambda each: order.index(running[each])):
                done[running.pop(task)] = task.result()
            why = await find_stop(_list_ended(order, done))
    finally:
        turn.surplus = why
        for task in running:
            task.cancel()
        await finish_anyway(asyncio.ensure_future(_wait_for_all(running)))
        turn.surplus = ""
    for task, number in running.items():  # one that ended meanwhile counts: its candidate is in the log
        if not task.cancelled() and task.exception() is None:
            done[number] = task.result()
    made = _list_ended(order, done)
    if why and len(done) < len(order):
        log_stop(turn, len(made), len(order), why)
    return made


def _list_ended(order: Sequence[int], done: Mapping[int, Candidate]) -> list[Candidate]:
    made = [done[number] for number in order if number in done]
    return [each for each in made if not (each.is_refused or each.is_surplus)]


async def _wait_for_all(tasks: Iterable[asyncio.Future[Candidate]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


def log_stop(turn: StrategyTurn, made: int, most: int, why: str) -> None:
    """Log why no more attempts are made, once in a turn. made: attempts so far; most: as many might have been made"""
    detail = f"{made} of {most} attempts are enough: {why}"
    session = turn.runtime.session
    history = session.replayed
    since = history.read_events_from(f"e{history.find_newest_place('prompt')}")
    if not any(isinstance(each, Signal) and each.detail == detail for each in since):
        session.append(Signal(name=STOP, detail=detail))
