"""Redraw after the window becomes narrower: most terminals reflow the lines on screen, which makes the live region
higher than it was drawn; its old first rows would remain as a copy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.layout.screen import Char

Result = TypeVar("Result")


class ReflowingApplication(Application[Result]):
    """An application at the bottom of a terminal that erases itself completely before it is drawn for another width."""

    aside = False
    """Another application has the terminal and redraws on a resize. This one receives the signal as well."""

    def _on_resize(self) -> None:
        if self.aside:
            return
        if is_reflowing_terminal() and (rows := self._count_extra_rows()):
            self.output.cursor_up(rows)  # erasing moves up from there by the rows drawn
        super()._on_resize()

    def _count_extra_rows(self) -> int:
        """Return the number of rows that the terminal's reflow has added above the cursor."""
        screen = self.renderer.last_rendered_screen
        if screen is None:
            return 0
        columns = max(self.output.get_size().columns, 1)
        cursor = screen.get_cursor_position(self.layout.current_window)
        above = (_measure_row(screen.data_buffer[y]) for y in range(cursor.y))
        return sum(max(width - 1, 0) // columns for width in above) + cursor.x // columns


def is_reflowing_terminal(env: Mapping[str, str] = os.environ) -> bool:
    """Return whether the terminal reflows lines. Those that do not are listed; they would lose the lines above."""
    term = env.get("TERM", "")
    screen = term.startswith("screen") and "TMUX" not in env
    return not (screen or "XTERM_VERSION" in env or term.startswith(("linux", "rxvt", "st-", "vt")))


def _measure_row(row: Mapping[int, Char]) -> int:
    """Return the number of columns up to the last non-blank cell."""
    return max((x + cell.width for x, cell in row.items() if cell.char.strip()), default=0)
