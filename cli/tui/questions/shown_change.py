"""The change that a question is about: a diff drawn as everywhere else, in which every character is seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby, islice

from cli.output.diff.diff_colours import DiffColours, choose_diff_colours
from cli.output.diff.diff_layout import DiffLayout
from cli.output.diff.diff_parser import parse_diff
from cli.output.diff.diff_view import format_diff
from cli.output.style.terminal import Terminal, wrap_characters
from cli.output.style.theme import apply_style, get_theme
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_for_approval

Row = Sequence[tuple[str, str]]
"""(style of the live region, text) of each part."""

_DIFF = ("--- ", "diff --git ")
_STYLES = {"+": "green", "-": "red"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownChange:
    """First rows of a change, and the number of lines after them."""

    rows: Sequence[Row]
    more: int


def draw_change(change: str, width: int, most: int, terminal: Terminal) -> ShownChange:
    """Return the rows of the first `most` lines of a change, each at most `width` columns wide."""
    if not change:
        return ShownChange(rows=(), more=0)
    # with the theme in the key: it may be chosen anew, or told by the terminal, while a question waits
    return _draw_rows(change, width, most, replace(terminal, rows=0), (get_theme(), choose_diff_colours()))


@lru_cache(maxsize=4)  # a question is drawn again with each key and each second
def _draw_rows(
    change: str, width: int, most: int, terminal: Terminal, theme: tuple[str, DiffColours | None]
) -> ShownChange:
    total = count_change_lines(change)
    rows = list(islice(_format_rows(change, width, most, terminal), most + 1))
    return ShownChange(rows=[_convert_row(row) for row in rows], more=max(total - most, 0))


def format_whole_change(change: str, terminal: Terminal) -> str:
    """Return all of a change as lines to be printed; "" for none."""
    if not change:
        return ""
    rows = _format_rows(change, terminal.columns - 1 if terminal.colour else 0, len(change), terminal)
    return "".join(f"{row}\n" for row in rows)


def count_change_lines(change: str) -> int:
    """Return the number of lines of a change."""
    if change.startswith(_DIFF):
        return sum(len(hunk.lines) for file in parse_diff(change) for hunk in file.hunks)
    return change.count("\n") + 1 if change else 0


def _format_rows(change: str, width: int, most: int, terminal: Terminal) -> Iterator[str]:
    """Yield the coloured rows of the first `most` lines."""
    if change.startswith(_DIFF):
        layout = DiffLayout(
            colour=terminal.colour,
            width=width if terminal.colour else 0,
            unicode=terminal.unicode,
            fill="spaces",
            exact=True,
        )
        rows = list(format_diff(change, layout, limit=most))
        if count_change_lines(change) > most:
            del rows[-1]  # how many lines are left out: the frame says it with the way to see them
        yield from (
            rows if terminal.colour or not width else (r for row in rows for r in wrap_characters(row, width))
        )
        return
    for line in islice(change.split("\n"), most):
        shown = sanitize_for_approval(line)
        for row in wrap_characters(shown, width) if width else [shown]:
            yield apply_style(row, _STYLES.get(line[:1], "")) if terminal.colour else row


def _convert_row(row: str) -> Row:
    """Return a coloured row in the styles of the live region."""
    from prompt_toolkit.formatted_text import ANSI, to_formatted_text  # plain lines do without it

    parts = to_formatted_text(ANSI(row))
    return [
        (style, "".join(each[1] for each in same)) for style, same in groupby(parts, key=lambda each: each[0])
    ]
