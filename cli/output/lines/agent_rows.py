"""Agents as rows: who does what, tokens, cost and the last line, below the agent that started them."""

from __future__ import annotations

from collections.abc import Iterable

from agent.team.activity import AgentActivity, AgentRow
from cli.output.amounts import format_duration, format_money, format_tokens
from cli.output.style.paint import Paint, Style, get_mark
from cli.output.style.terminal import truncate_text
from sandbox.sanitize import sanitize_text
from tools.core.text import format_count

MOST_LIVE = 6
"""Rows of agents at work that are redrawn below the answer."""


def format_tree(activity: AgentActivity, width: int, paint: Paint, *, unicode: bool) -> list[str]:
    """Return two lines for each agent: its name, cost and task; and the last line of its work."""
    lines = []
    for depth, row in activity.list_tree():
        lines.append(_format_head(row, depth, width, paint, unicode=unicode))
        if row.last:
            text = f"{'  ' * depth}    {_clean(row.last)}"
            lines.append(
                paint(truncate_text(text, width, ellipsis=get_mark("ellipsis", unicode=unicode)), "dim")
            )
    return lines


def format_working(activity: AgentActivity, width: int, paint: Paint, *, unicode: bool) -> list[str]:
    """Return a line for each agent at work, and how many more there are."""
    tree = [row for _, row in activity.list_tree() if not row.is_role]  # attempts have rows of their own
    working = [row for row in tree if row.state == "working"]
    lines = []
    for row in working[:MOST_LIVE]:
        text = _join(
            [f"{get_mark('doing', unicode=unicode)} {row.name}", *_list_amounts(row), row.last], unicode
        )
        lines.append(
            paint(truncate_text(text, width, ellipsis=get_mark("ellipsis", unicode=unicode)), "cyan")
        )
    if len(working) > MOST_LIVE:
        lines.append(paint(f"  {len(working) - MOST_LIVE} more: /agents", "dim"))
    return lines


def format_heads(activity: AgentActivity, *, unicode: bool) -> list[tuple[str, str]]:
    """Return (mark and name, state and cost) of each agent, for a list to choose from."""
    rows = []
    for depth, row in activity.list_tree():
        name = f"{'  ' * depth}{get_mark(_choose_mark(row)[0], unicode=unicode)} {row.name}"
        facts = (describe_state(row), _describe_files(row), *_list_amounts(row))
        rows.append((name, _join([each for each in facts if each], unicode)))
    return rows


def describe_state(row: AgentRow) -> str:
    """Return the state of an agent in a word or two."""
    return "at work" if row.state == "working" else row.state if row.state == "cut off" else row.outcome


def _format_head(row: AgentRow, depth: int, width: int, paint: Paint, *, unicode: bool) -> str:
    mark, style = _choose_mark(row)
    name = f"{'  ' * depth}{get_mark(mark, unicode=unicode)} {row.name}"
    text = _join([name, describe_state(row), _describe_files(row), *_list_amounts(row), row.task], unicode)
    return paint(truncate_text(text, width, ellipsis=get_mark("ellipsis", unicode=unicode)), style)


def _describe_files(row: AgentRow) -> str:
    """Return what became of the changes of an agent in a worktree; "" for others."""
    if row.place != "worktree":
        return ""
    return {
        "": "in a worktree",
        "reported": "not merged yet",
        "kept": "not merged",
        "merged": f"merged {format_count(len(row.paths), 'file')}",
        "conflicts": f"not merged: {format_count(len(row.paths), 'conflict')}",
    }[row.merge]


def _choose_mark(row: AgentRow) -> tuple[str, Style]:
    if row.state == "working":
        return "doing", "cyan"
    if row.state == "cut off":
        return "warn", "yellow"
    return ("good", "green") if row.outcome == "done" else ("bad", "red")


def _list_amounts(row: AgentRow) -> list[str]:
    steps = format_count(row.steps, "step") if row.steps else ""
    tokens = f"{format_tokens(row.tokens)} tokens" if row.tokens else ""
    cost = format_money(row.cost) if row.cost else ""
    return [each for each in (steps, tokens, cost, format_duration(row.elapsed)) if each]


def _join(parts: Iterable[str], unicode: bool) -> str:
    return get_mark("between", unicode=unicode).join(
        _clean(each) if n else each for n, each in enumerate(parts) if each
    )


def _clean(text: str) -> str:
    return " ".join(sanitize_text(text).split())
