"""The work of a turn that a kill cut off, read from the log: a log may be damaged, or written by somebody."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from agent.budget.budget_text import parse_budget
from agent.events import Prompt
from agent.session_settings import StrategySettings
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.session.branch_history import History

MOST_ATTEMPTS = 1_000
"""Attempts of a resumed turn, whatever its log says: more than a machine makes in a day."""

_PRESENT = ("ray", "ray_env")
"""Settings that the present session gives: a log decides on no connection, nor on the variables that leave here."""


def read_interrupted_work(history: History) -> Mapping[str, Any]:
    """Return the settings of the work that fills the last turn; {} for the loop."""
    prompt = history.get_event(f"e{history.find_newest_place('prompt')}")
    return (prompt.strategy if isinstance(prompt, Prompt) else None) or {}


def read_logged_strategy(begun: Mapping[str, Any], present: StrategySettings) -> StrategySettings:
    """Return the strategy with which a turn began, checked like a settings file. Raises UserError

    present: of the session that continues it, whose cluster is used
    """
    from pydantic import TypeAdapter, ValidationError

    known = {each.name for each in fields(StrategySettings)}.difference(_PRESENT)
    logged = {name: value for name, value in begun.items() if name in known}
    try:
        found: StrategySettings = TypeAdapter(StrategySettings).validate_python(logged)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise create_log_error(str(first["loc"][0]), first.get("input")) from None
    try:
        parse_budget(found.budget)
    except ValueError:
        raise create_log_error("budget", found.budget) from None
    return replace(
        found,
        attempts=min(max(found.attempts, 1), MOST_ATTEMPTS),
        ray=present.ray,
        ray_env=list(present.ray_env),
    )


def create_log_error(name: str, value: object) -> UserError:
    """Return the error about one value that a turn's work cannot have."""
    shown = "a value that cannot be shown"
    with suppress(ValueError, RecursionError):
        shown = repr(value)[:80]
    return UserError(
        Fault.USAGE,
        f"the log of the session is damaged: the turn's {name!r} is {shown}",
        "Begin anew: patchwright resume -p PROMPT",
    )
