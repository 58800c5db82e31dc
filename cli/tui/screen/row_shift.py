"""Printing above the live region without drawing it anew: its rows are moved, on the terminal and in the renderer's
record of them, and only what differs afterwards is written.

The renderer by itself erases the region for every printed line, and writes all of it again.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point
from prompt_toolkit.layout.screen import Screen
from prompt_toolkit.output import Output
from prompt_toolkit.renderer import Renderer

from sandbox.lazy_pattern import compile_lazily

Cell = TypeVar("Cell")


def print_in_place(app: Application[None], text: str, find_fixed_row: Callable[[Screen | None], int]) -> bool:
    """Print a text above the live region, whose rows are moved; return False if that is impossible.

    find_fixed_row: returns, of a drawn region, the row from which on it probably stays as it is
    """
    size = app.output.get_size()
    region, rows = RegionRows.find(app.renderer, app.output), split_rows(text, size.columns)
    if region is None or rows is None:
        return False
    preferred = app.layout.container.preferred_height(size.columns, size.rows).preferred
    fixed = find_fixed_row(app.renderer.last_rendered_screen)
    return region.print_above(rows, height=min(preferred, size.rows), fixed=fixed)


class RegionRows:
    """The rows of a live region as it was drawn last."""

    def __init__(self, renderer: Renderer, output: Output, drawn: Screen) -> None:
        self._renderer = renderer
        self._output = output
        self._drawn = drawn

    @classmethod
    def find(cls, renderer: Renderer, output: Output) -> RegionRows | None:
        """Return the rows, None if nothing is drawn, or was for a window of another size."""
        drawn = renderer.last_rendered_screen
        if drawn is None or renderer._last_size != output.get_size():
            return None
        return cls(renderer, output, drawn)

    def print_above(self, rows: list[str], *, height: int, fixed: int) -> bool:
        """Print rows above the region and make room for it to have `height` rows; return False if there is no room.

        rows: each fits into one row of the terminal, see `split_rows`
        fixed: row of the region from which on it probably stays as it is; the others change anyway
        """
        change = len(rows) + height - self._drawn.height
        if self._drawn.height + max(change, 0) > self._output.get_size().rows:
            return False
        fixed = min(max(fixed, -change, 0), self._drawn.height)
        if change > 0:
            self._insert_rows(fixed, change)
        elif change < 0:
            self._delete_rows(fixed + change, -change)
        if rows:
            self._move_cursor(0)
            self._output.write_raw("".join(f"\x1b[K{row}\r\n" for row in rows))
            self._shift_record(0, -len(rows))
            self._renderer._cursor_pos = Point(x=0, y=0)
        self._renderer._last_style = None
        return True

    def _insert_rows(self, at: int, count: int) -> None:
        # Line feeds at the bottom of the window scroll it, so that no row is pushed out below.
        self._move_cursor(self._drawn.height - 1)
        self._output.write_raw("\r" + "\n" * count)
        self._renderer._cursor_pos = Point(x=0, y=self._drawn.height - 1 + count)
        self._move_cursor(at)
        self._output.write_raw(f"\x1b[{count}L")
        self._shift_record(at, count)

    def _delete_rows(self, at: int, count: int) -> None:
        self._move_cursor(at)
        self._output.write_raw(f"\x1b[{count}M")
        self._shift_record(at, -count)

    def _move_cursor(self, row: int) -> None:
        """Move to the first column of a row of the region; never scrolls."""
        by = row - self._renderer._cursor_pos.y
        self._output.write_raw("\x1b[0m\r" + (f"\x1b[{by}B" if by > 0 else f"\x1b[{-by}A" if by else ""))
        self._renderer._cursor_pos = Point(x=0, y=row)

    def _shift_record(self, at: int, by: int) -> None:
        """Record that the rows from `at` on are `by` rows lower, or that `-by` rows from `at` on are gone."""
        drawn = self._drawn
        drawn.data_buffer = _shift_rows(drawn.data_buffer, at, by)
        drawn.zero_width_escapes = _shift_rows(drawn.zero_width_escapes, at, by)
        drawn.cursor_positions = {
            window: Point(x=each.x, y=max(each.y + (by if each.y >= at else 0), 0))
            for window, each in drawn.cursor_positions.items()
        }
        drawn.height += by


def split_rows(text: str, columns: int) -> list[str] | None:
    """Return the lines of a printed text, None unless each surely takes one row of the terminal."""
    *lines, rest = text.split("\n")
    return lines if not rest and all(_fits(line, columns) for line in lines) else None


def _fits(line: str, columns: int) -> bool:
    shown = _SEQUENCES.sub("", line).expandtabs()
    if _NARROW.fullmatch(shown):
        return len(shown) <= columns
    return _measure_most(shown) <= columns


_SEQUENCES = compile_lazily(r"\x1b\[[0-9;]*[mK]|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)")
"""Colours, the rest of a row in a colour, and links: they take no columns."""


_NARROW = compile_lazily("[ -~\u00a0-\u02ff\u2010-\u2027\u202a-\u25ff]*")
"""Characters of one column each: those that `_measure_character` measures as that, a row of code at once."""


def _measure_most(text: str) -> float:
    """Return the most columns that a text may take: terminals differ in how wide they draw emoji."""
    return sum(_measure_character(each) for each in text)


def _measure_character(character: str) -> float:
    if not character.isprintable() and unicodedata.category(character) in ("Cc", "Zl", "Zp"):
        return float("inf")
    if character.isascii() or character < "\u0300" or "\u2010" <= character <= "\u25ff":
        return 1
    return 2


def _shift_rows(
    rows: defaultdict[int, defaultdict[int, Cell]], at: int, by: int
) -> defaultdict[int, defaultdict[int, Cell]]:
    moved: Any = defaultdict(rows.default_factory)
    for number, row in rows.items():
        if number < at:
            moved[number] = row
        elif number + by >= at or by > 0:
            moved[number + by] = row
    found: defaultdict[int, defaultdict[int, Cell]] = moved
    return found
