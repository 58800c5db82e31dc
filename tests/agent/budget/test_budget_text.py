"""A budget as a person writes it, and what is none."""

from __future__ import annotations

import pytest

from agent.budget.budget_text import Budget, apply_budget, parse_budget
from agent.session_settings import LimitSettings


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("5", Budget(dollars=5)),
        ("$0.50", Budget(dollars=0.5)),
        (".5 usd", Budget(dollars=0.5)),
        ("200k tokens", Budget(tokens=200_000)),
        ("200k", Budget(tokens=200_000)),
        ("1.5M tokens", Budget(tokens=1_500_000)),
        ("5000 tokens", Budget(tokens=5000)),
        ("90s", Budget(seconds=90)),
        ("10m", Budget(seconds=600)),
        ("1.5 h", Budget(seconds=5400)),
        ("10m,5", Budget(dollars=5, seconds=600)),
        ("1, 500k", Budget(dollars=1, tokens=500_000)),
        ("$2, 10m,300k", Budget(dollars=2, tokens=300_000, seconds=600)),
        ("", Budget()),
    ],
)
def test_each_unit_has_one_meaning(text: str, budget: Budget) -> None:
    assert parse_budget(text) == budget


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lots", "'lots'"),
        ("0", "more than nothing"),
        ("-5", "'-5'"),
        ("nan", "'nan'"),
        ("9" * 400, "more than nothing"),
        ("5 m tokens", "'5 m tokens'"),
        ("$5k", r"'\$5k'"),
        ("10M", "minutes are 10m, tokens 10M tokens"),
        ("5, 6", "there is a limit on dollars already"),
        ("5 6", "'5 6'"),
        (",", "','"),
        ("1,500k", "'1,500k': write a number without commas"),
        ("1,500 tokens", "without commas"),
        ("10m, 1,500k", "without commas"),
        ("$1,500", "without commas"),
    ],
)
def test_nonsense_is_quoted(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_budget(text)


def test_the_lower_limit_holds() -> None:
    limits = apply_budget(LimitSettings(max_cost=2, max_time=60), parse_budget("5, 10k tokens, 10m"))
    assert (limits.max_cost, limits.max_tokens, limits.max_time) == (2, 10_000, 60)
    limits = apply_budget(LimitSettings(max_cost=2, max_time=600), parse_budget("1, 30s"))
    assert (limits.max_cost, limits.max_tokens, limits.max_time) == (1, None, 30)
