"""A window that gets narrower: most terminals break the lines that stand in it anew, so that the live region is higher
than it was drawn, and its old beginning would stay behind as a copy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.layout.screen import Char

Result = TypeVar("Result")


class ReflowingApplication(Application[Result]):
    """An application at the bottom of a terminal, which it takes away whole before it is drawn for another width."""

    aside = False
    """Another application has the terminal: drawing for a new size is up to that one. This one sees it as well."""

    def _on_resize(self) -> None:
        if self.aside:
            return
        if is_reflowing_terminal() and (rows := self._count_extra_rows()):
            self.output.cursor_up(rows)  # it goes on from there by as many as it has drawn
        super()._on_resize()

    def _count_extra_rows(self) -> int:
        """Rows that the terminal has put above the cursor by breaking lines of the last drawing."""
        screen = self.renderer.last_rendered_screen
        if screen is None:
            return 0
        columns = max(self.output.get_size().columns, 1)
        cursor = screen.get_cursor_position(self.layout.current_window)
        above = (_measure_row(screen.data_buffer[y]) for y in range(cursor.y))
        return sum(max(width - 1, 0) // columns for width in above) + cursor.x // columns


def is_reflowing_terminal(env: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal breaks lines anew. Those that do not are known; they would lose what stands above."""
    term = env.get("TERM", "")
    screen = term.startswith("screen") and "TMUX" not in env
    return not (screen or "XTERM_VERSION" in env or term.startswith(("linux", "rxvt", "st-", "vt")))


def _measure_row(row: Mapping[int, Char]) -> int:
    """Columns up to the last one in which something stands."""
    return max((x + cell.width for x, cell in row.items() if cell.char.strip()), default=0)
