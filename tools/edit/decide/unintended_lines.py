"""Added lines that leave code out, or begin with a dash that the file does not use."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sandbox.lazy_pattern import compile_lazily
from tools.edit.edit_model import Line
from tools.edit.formats.placeholders import is_elision, is_placeholder
from tools.edit.match.matchers import Source
from tools.edit.refusal import EditRefused

_BULLET = compile_lazily(r"\s*([‐‑‒–—―−﹣－])\s")
_PLAIN_BULLET = compile_lazily(r"^[ \t]*- ", re.MULTILINE)


def refuse_unintended_lines(source: Source, lines: Sequence[Line]) -> None:
    """Raise EditRefused for added lines that a model does not mean to write."""
    _refuse_elisions(source, lines)
    _refuse_placeholders(source, lines)
    _refuse_typographic_bullets(source, lines)


def _refuse_elisions(source: Source, lines: Sequence[Line]) -> None:
    """Raise EditRefused for dots that replace several lines of `old`. For one line they may be Python's `...`
    as a body.
    """
    for i, line in enumerate(lines):
        if line.op != "+" or not is_elision(line.text) or line.text in source.lines:
            continue
        if (gone := _count_elided_lines(lines, i)) > 1:
            raise EditRefused(
                f"`new` has {line.text.strip()!r} where `old` has {gone} lines: give all lines, or a smaller `old`"
            )


def _count_elided_lines(lines: Sequence[Line], number: int) -> int:
    """Return how many non-blank removed lines the added line replaces, not counting those that other added
    lines replace.
    """
    first, last = number, number + 1
    while first and lines[first - 1].op != " ":
        first -= 1
    while last < len(lines) and lines[last].op != " ":
        last += 1
    ops = [line.op for line in lines[first:last] if line.text.strip()]
    return max(ops.count("-") - (ops.count("+") - 1), 0)


def _refuse_placeholders(source: Source, lines: Sequence[Line]) -> None:
    """Raise EditRefused for added lines that are placeholders for code."""
    old = {line.text.strip() for line in lines if line.op != "+"}
    for line in lines:
        text = line.text.strip()
        if line.op == "+" and is_placeholder(text) and text not in old and text not in source.text:
            raise EditRefused(
                f"`new` has a placeholder for code it leaves out ({text[:60]!r}): "
                "give all lines, or a smaller `old`"
            )


def _refuse_typographic_bullets(source: Source, lines: Sequence[Line]) -> None:
    """Raise EditRefused for a new item with a long dash, in a file whose items have a hyphen: to YAML it is
    no item at all.
    """
    for line in lines:
        bullet = _BULLET.match(line.text) if line.op == "+" and not line.text.isascii() else None
        if bullet and bullet[1] not in source.text and _PLAIN_BULLET.search(source.text):
            raise EditRefused(
                f"`new` begins a line with {bullet[1]!r}, where the lines of the file have '-': "
                "write it as the file does"
            )
