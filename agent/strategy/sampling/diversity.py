"""Differences between attempts at one task, made on purpose: the same attempt twice is one attempt.

The user's models, temperatures and hints count where they are given. Else the first attempt is the session as it is,
the second plans first, and each later one begins at another likely place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeVar

from agent.session_settings import StrategySettings
from agent.strategy.strategy_turn import StrategyTurn
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass

Value = TypeVar("Value")

PLAN_FIRST = (
    "Before you change a file, write down what is wrong, two ways to mend it, and why you take one of them."
)

WARM, WARMER = 0.8, 1.0
"""Temperatures of the attempts after the first, and of those after the first place that each begins at."""

PLACES = 6
"""Likely places that attempts begin at, one after the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """What one attempt is given beside the task."""

    model: str = ""
    temperature: float | None = None
    hint: str = ""


def vary_attempt(number: int, settings: StrategySettings, places: Sequence[str]) -> Variation:
    """Return the variation of an attempt, counted from 1. places: likely ones, the best first"""
    temperature = _cycle(settings.temperatures, number)
    if not settings.temperatures and number > 1:
        temperature = WARM if number <= 2 + len(places) else WARMER
    return Variation(
        model=_cycle(settings.models, number) or "",
        temperature=temperature,
        hint=_cycle(settings.hints, number) or "" if settings.hints else _make_hint(number, places),
    )


async def list_starting_places(turn: StrategyTurn) -> list[str]:
    """Return the likeliest functions for the task, found without a model; none where the code cannot be indexed."""
    from tools.code.code_tool import query_index
    from tools.code.localization import localize_text

    task = turn.prompt
    try:
        found = await asyncio.to_thread(
            query_index,
            turn.runtime.workspace,
            lambda index: localize_text(index, task, functions=PLACES),
        )
    except UserError:
        return []
    return [f"{each.path}:{each.symbol.first} ({each.symbol.name})" for each in found.functions]


def _make_hint(number: int, places: Sequence[str]) -> str:
    if number == 1:
        return ""
    if number == 2 or not places:
        return PLAN_FIRST
    return f"Begin by reading {places[(number - 3) % len(places)]}, and look further from there."


def _cycle(values: Sequence[Value], number: int) -> Value | None:
    """Return the value of an attempt, None if none are given."""
    return values[(number - 1) % len(values)] if values else None
