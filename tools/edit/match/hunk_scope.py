"""Scopes of a hunk's heads (`@@ class Cart`): the part of the file that is searched for its lines."""

from __future__ import annotations

from collections.abc import Sequence

from tools.edit.indentation import indent_of
from tools.edit.match.matchers import STEPS, Source, find_sites, normalize_tokens


def find_scopes(source: Source, heads: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return the ranges of lines (from 0, end not included) below the heads; None without heads, empty if
    they are absent.

    Each head is searched within the scope of the one before it. A head's scope is its block: the lines below
    that are indented deeper; or, where there are none, the rest of the file.
    """
    found: list[tuple[int, int]] | None = None
    for head in heads:
        if not head.strip():
            continue
        within = found if found is not None else [(0, len(source.lines))]
        found = [scope for first, end in within for scope in _find_head_scopes(source, head, first, end)]
    return found


def _find_head_scopes(source: Source, head: str, first: int, end: int) -> list[tuple[int, int]]:
    for step in STEPS:
        if rows := [site.first for site in find_sites(source, [head], step, first, end)]:
            return [_find_block(source, row, end) for row in rows]
    wanted = normalize_tokens(head)  # models name a head by its beginning: "def total" for "def total(self):"
    rows = (
        [i for i in range(first, end) if normalize_tokens(source.lines[i]).startswith(wanted)]
        if wanted
        else []
    )
    return [_find_block(source, row, end) for row in rows]


def _find_block(source: Source, row: int, end: int) -> tuple[int, int]:
    depth = len(indent_of(source.lines[row]).expandtabs(4))
    last = row
    for number in range(row + 1, end):
        line = source.lines[number]
        if not line.strip():
            continue
        if len(indent_of(line).expandtabs(4)) <= depth and line.strip()[0] not in "})]{(":
            break
        last = number
    return (row + 1, last + 1) if last > row else (row + 1, end)
