"""Human-readable amounts: time, tokens, money."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.events import UsageRecord


def format_money(cost: float) -> str:
    """Format dollars, with two digits, or four for a sum between 0 and 1."""
    return f"${cost:.2f}" if cost >= 1 or cost == 0 else f"${cost:.4f}"


def format_tokens(number: int) -> str:
    """Format a number of tokens: "812", "12.3k", "1.2M"."""
    if number < 1000:
        return str(number)
    return f"{number / 1000:.1f}k" if number < 999_950 else f"{number / 1_000_000:.1f}M"


def format_price(spent: UsageRecord, *, unpriced: bool) -> str:
    """Format the cost of calls: a sum, a lower bound if some had no known price, or "price unknown"."""
    if spent.cost is None:
        return "price unknown"
    return f"at least {format_money(spent.cost)}" if unpriced else format_money(spent.cost)


def format_duration(seconds: float) -> str:
    """Format seconds, from 60 on as minutes and seconds."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
