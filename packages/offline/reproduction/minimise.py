"""Minimisation of a draft: delta debugging over its statements, after a slice by names.

Source: Zeller and Hildebrandt, Simplifying and isolating failure-inducing input (ddmin).
"""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable, Sequence

from packages.offline.reproduction.drafts import bind_names, read_names
from packages.offline.reproduction.report.report_fields import Exchange
from packages.offline.reproduction.report.text_elements import parse_code

MOST_TRIALS = 6
"""Runs that a minimisation may cost."""

Keeps = Callable[[Sequence[int]], Awaitable[bool]]
"""Whether the statements with these indexes still fail in the same way."""


async def minimise_statements(
    exchanges: Sequence[Exchange], needed: Sequence[int], keeps: Keeps
) -> list[int]:
    """Return the indexes of the statements to keep, in order.

    needed: statements that the failure is about, which are never dropped
    """
    kept = [*range(max(needed) + 1)]
    trials = 0
    sliced = slice_statements(exchanges, needed)
    if len(sliced) < len(kept):
        trials += 1
        if await keeps(sliced):
            kept = sliced
    size = max(1, (len(kept) - len(needed)) // 2)
    while trials < MOST_TRIALS:
        optional = [each for each in kept if each not in needed]
        dropped = False
        for start in range(0, len(optional), size):
            if trials >= MOST_TRIALS:
                break
            rest = [each for each in kept if each not in optional[start : start + size]]
            trials += 1
            if await keeps(rest):
                kept, dropped = rest, True
                break
        if not dropped:
            if size == 1:
                break
            size = max(1, size // 2)
    return kept


def slice_statements(exchanges: Sequence[Exchange], needed: Sequence[int]) -> list[int]:
    """Return the statements on which the needed ones depend by the names that they read."""
    wanted: set[str] = set()
    kept: set[int] = set()
    for place in range(max(needed), -1, -1):
        tree = parse_code(exchanges[place].source)
        if tree is None:
            continue
        bound = bind_names(tree)
        changes = {name for name in read_names(tree) if name in wanted and _may_change(tree, name)}
        if place in needed or bound & wanted or changes or _is_star(tree):
            kept.add(place)
            wanted |= read_names(tree)
    return sorted(kept)


def _may_change(tree: ast.Module, name: str) -> bool:
    """Return whether a statement may change the object behind a name: a call of its method, or with it."""
    return any(isinstance(node, ast.Call) for node in ast.walk(tree)) and not any(
        isinstance(node, (ast.Import, ast.ImportFrom)) for node in tree.body
    )


def _is_star(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.alias) and node.name == "*" for node in ast.walk(tree))
