"""A budget as a person writes it: `5` dollars, `200k tokens`, `10m` of time, or several of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from agent.session_settings import LimitSettings
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

FORMS = "5 or $5 (dollars), 200k tokens, 10m (s, m, h), or several: 5, 10m"
"""Forms of a budget, for help and errors."""

_PART = compile_lazily(r"(\$?)(\d+(?:\.\d+)?|\.\d+)\s*([a-zA-Z]*)\s*(tokens?)?")

_THOUSANDS = compile_lazily(r"(?:^|,)\s*\$?[\d.]+,\d")
"""A bare number, a comma and a digit at once: `1,500k` is one number to who writes it, `1, 500k` are two limits."""

_SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
_TOKENS = {"k": 1_000, "K": 1_000, "M": 1_000_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of one turn with all that it starts; None for those that it does not name."""

    dollars: float | None = None
    tokens: int | None = None
    seconds: float | None = None


NO_BUDGET = Budget()
"""The one that limits nothing."""


def parse_budget(text: str) -> Budget:
    """Return the budget that a text names, none for "". Raises ValueError, which quotes the part that is wrong."""
    if "," in text and _THOUSANDS.search(text):
        raise ValueError(f"{text!r}: write a number without commas, and a space after one between two limits")
    budget = Budget()
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, value = _parse_part(part)
        if getattr(budget, name) is not None:
            raise ValueError(f"{part!r}: there is a limit on {name} already")
        more: dict[str, Any] = {name: value}
        budget = replace(budget, **more)
    if text.strip() and budget == NO_BUDGET:
        raise ValueError(repr(text))
    return budget


def _parse_part(part: str) -> tuple[str, float | int]:
    match = _PART.fullmatch(part)
    if match is None:
        raise ValueError(repr(part))
    sign, digits, unit, tokens = match.groups()
    if unit in ("token", "tokens") and not tokens:
        unit, tokens = "", unit
    number = float(digits)
    if not number or not math.isfinite(number):
        raise ValueError(f"{part!r}: it has to be more than nothing")
    if sign and not (unit or tokens):
        return "dollars", number
    if sign:
        raise ValueError(repr(part))
    if tokens and unit in ("", *_TOKENS):
        return "tokens", max(1, round(number * _TOKENS.get(unit, 1)))
    if tokens:
        raise ValueError(repr(part))
    if unit in ("", "usd", "USD", "dollars", "dollar"):
        return "dollars", number
    if unit in ("k", "K"):
        return "tokens", max(1, round(number * 1_000))
    if unit in _SECONDS:
        return "seconds", number * _SECONDS[unit]
    hint = f": minutes are {digits}m, tokens {digits}M tokens" if unit == "M" else ""
    raise ValueError(f"{part!r}{hint}")


def apply_budget(limits: LimitSettings, budget: Budget) -> LimitSettings:
    """Return limits with a budget: of two limits on the same thing the lower one holds."""
    costs = [each for each in (limits.max_cost, budget.dollars) if each is not None]
    tokens = [each for each in (limits.max_tokens, budget.tokens) if each is not None]
    return replace(
        limits,
        max_cost=min(costs, default=None),
        max_tokens=min(tokens, default=None),
        max_time=limits.max_time if budget.seconds is None else min(limits.max_time, budget.seconds),
    )
