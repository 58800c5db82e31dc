"""Diffs in the text of an answer, line by line as they stream."""

from __future__ import annotations

from cli.output.diff.diff_colours import choose_diff_colours
from cli.output.style.terminal import split_columns
from cli.output.style.theme import apply_style
from sandbox.sanitize import sanitize_text

LANGUAGES = frozenset({"diff", "patch", "udiff"})
"""Of fences that hold one."""

_HEADERS = ("+++ ", "--- ", "diff ", "index ")


def paint_diff_line(text: str, width: int) -> str:
    """Return a line of a diff, safe and coloured, in rows of at most `width` columns."""
    rows = split_columns(sanitize_text(text).replace("\t", "    "), width)
    sign = "" if text.startswith(_HEADERS) else text[:1]
    colours = choose_diff_colours() if sign in ("+", "-") and sign else None
    if colours is not None:
        ground = colours.added if sign == "+" else colours.removed
        return "\n".join(f"\x1b[{ground}m\x1b[K{row}\x1b[0m" for row in rows)
    style = {"+": "green", "-": "red", "@": "cyan"}.get(sign, "bold" if text.startswith(_HEADERS) else "")
    return "\n".join(apply_style(row, style) for row in rows)
