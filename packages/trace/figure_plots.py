"""Figures of sessions as bars on a terminal: outcome, cost and time, by kind of task, week and model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

MOST_BARS = 12
"""Groups of a plot: the newest weeks, the models and kinds of task with most sessions."""

FULL, PART, ASCII_FULL, ASCII_PART = "█", "░", "#", "."

Figures = Sequence[Mapping[str, Any]]


def draw_plots(figures: Figures, width: int, *, unicode: bool) -> Iterator[str]:
    """Yield the lines of the plots. figures: as `summarize_sessions` returns them; width: columns of the terminal"""
    for key, title in (("task", "by kind of task"), ("week", "by week"), ("model", "by model")):
        groups = _group(figures, key)
        if len(groups) < 2:
            continue  # one bar shows nothing
        yield ""
        yield f"done, of all sessions, {title}"
        yield from _draw_bars(
            groups, width, _count_done, _count_sessions, lambda done, whole: f"{done:g} of {whole:g}", unicode
        )
        for name, measure, form in (
            ("cost", _add_costs, _format_cost),
            ("minutes", _add_minutes, _format_minutes),
        ):
            if any(measure(group) for group in groups.values()):
                yield ""
                yield f"{name}, {title}"
                yield from _draw_bars(groups, width, measure, measure, form, unicode)


def _group(figures: Figures, key: str) -> dict[str, list[Mapping[str, Any]]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for each in figures:
        groups.setdefault(str(each[key]), []).append(each)
    names = (
        sorted(groups) if key == "week" else sorted(groups, key=lambda name: -_count_sessions(groups[name]))
    )
    chosen = names[-MOST_BARS:] if key == "week" else names[:MOST_BARS]
    return {name: groups[name] for name in chosen}


def _draw_bars(
    groups: Mapping[str, Figures],
    width: int,
    part: Callable[[Figures], float],
    whole: Callable[[Figures], float],
    form: Callable[[float, float], str],
    unicode: bool,
) -> Iterator[str]:
    """Yield a bar for each group: what is a part of it is filled."""
    full, rest = (FULL, PART) if unicode else (ASCII_FULL, ASCII_PART)
    label = min(max(map(len, groups)), width // 3)
    texts = {name: form(part(group), whole(group)) for name, group in groups.items()}
    room = max(width - label - max(map(len, texts.values())) - 6, 1)
    most = max(map(whole, groups.values())) or 1
    for name, group in groups.items():
        long, filled = (round(room * each / most) for each in (whole(group), part(group)))
        bar = full * filled + rest * (long - filled)
        yield f"  {name[:label]:<{label}}  {bar}  {texts[name]}"


def _count_sessions(group: Figures) -> float:
    return float(sum(each["sessions"] for each in group))


def _count_done(group: Figures) -> float:
    return float(sum(each["done"] for each in group))


def _add_costs(group: Figures) -> float:
    return float(sum(each["cost"] or 0 for each in group))


def _add_minutes(group: Figures) -> float:
    """Return the minutes of all sessions, by the median of each row."""
    return float(sum(each["minutes"] * each["sessions"] for each in group))


def _format_cost(cost: float, _: float) -> str:
    from cli.output.amounts import format_money

    return format_money(cost)


def _format_minutes(minutes: float, _: float) -> str:
    return f"{minutes:,.0f}"
