"""The strategy of one session, set by its user and kept in its log."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from agent.budget.budget_text import apply_budget, parse_budget
from agent.budget.limits import build_limits
from agent.events import Signal
from sandbox.errors import UserError
from sandbox.lazy_pattern import compile_lazily
from tools.core.text import format_count

if TYPE_CHECKING:
    from agent.session_settings import StrategySettings
    from cli.tui.conversation.conversation import Conversation

SIGNAL = "strategy-set"
"""Name of the signal that keeps it."""

MOST_READ = 1_000
"""Signals of a resumed session that are looked through for it, the newest first."""

_KEPT = compile_lazily(r"strategy: (\S+), (\d+) attempts?(?:, budget (.+))?")


def describe_strategy(settings: StrategySettings) -> str:
    """Return the name, the number of attempts and the budget in one line."""
    budget = f", budget {settings.budget}" if settings.budget else ""
    return f"{settings.name}, {format_count(settings.attempts, 'attempt')}{budget}"


def set_strategy(chat: Conversation, settings: StrategySettings) -> None:
    """Use a strategy from the next prompt on, and log it. Raises UserError if its budget needs an unknown price."""
    _use(chat, settings)
    chat.runtime.session.append(Signal(name=SIGNAL, detail=f"strategy: {describe_strategy(settings)}"))


def restore_strategy(chat: Conversation) -> None:
    """Use the strategy that was set in this session before it was resumed, if one was."""
    signals = chat.runtime.session.replayed.select_marked_newest_first("signal")
    for event in islice(signals, MOST_READ):
        match = _KEPT.fullmatch(event.detail) if isinstance(event, Signal) and event.name == SIGNAL else None
        if match is None:
            continue
        try:
            parse_budget(match[3] or "")
            _use(
                chat,
                replace(
                    chat.settings.session.strategy,
                    name=match[1],
                    attempts=int(match[2]),
                    budget=match[3] or "",
                ),
            )
            chat.show_message(f"strategy {describe_strategy(chat.settings.session.strategy)}", "dim")
        except (UserError, ValueError) as error:  # a package is gone, a price is not known any more
            chat.show_message(f"the strategy of this session is not used: {error}", "yellow")
        return


def _use(chat: Conversation, settings: StrategySettings) -> None:
    from agent.model_selection import ModelSelection
    from agent.strategy.strategy_table import check_strategy_name

    check_strategy_name(settings.name)
    own = chat.settings.session
    budget = parse_budget(settings.budget)
    limits = apply_budget(own.limits, budget)
    runtime = chat.runtime
    limited = replace(runtime.settings, limits=limits, strategy=settings)
    if runtime.environment is not None:
        env, cache = runtime.environment.request.env, chat.home.cache
        ModelSelection(settings=limited, env=env, cache=cache).check_price(runtime.model.name)
    chat.settings = replace(chat.settings, session=replace(own, strategy=settings))
    runtime.settings, runtime.purse.limits = limited, build_limits(limits, budget)
