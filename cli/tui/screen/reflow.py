"""Redraw after the window changes: most terminals reflow the lines on screen, which makes the live region higher than
it was drawn; its old first rows would remain as a copy.

While a window is dragged, it has another size by the time in which the terminal acts on what is written for this one:
the cursor would move too far, and the lines above the region be erased. So nothing is drawn until the size is settled.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Size
from prompt_toolkit.layout.screen import Char

Result = TypeVar("Result")

SETTLED, SETTLED_IN_TMUX = 0.1, 0.3
"""Seconds without a change of size after which the window is drawn anew. tmux tells sizes 0.25 s apart, each of them
after its own lines have another one."""


class ReflowingApplication(Application[Result]):
    """An application at the bottom of a terminal that erases itself completely before it is drawn for another width."""

    aside = False
    """Another application has the terminal and redraws on a resize. This one receives the signal as well."""

    _settling: Size | None = None
    """The window's size at the last look, while it changes."""

    def _on_resize(self) -> None:
        if self.aside or self._settling is not None:
            return
        self._settling = self.output.get_size()
        self._wait_until_settled()

    def _wait_until_settled(self) -> None:
        seconds = SETTLED_IN_TMUX if "TMUX" in os.environ else SETTLED
        asyncio.get_running_loop().call_later(seconds, self._redraw_when_settled)

    def _redraw_when_settled(self) -> None:
        if self._settling is None:
            return
        if self._settling != (size := self.output.get_size()):
            self._settling = size
            self._wait_until_settled()
            return
        self._settling = None
        if self._is_running and not self._running_in_terminal and not self.aside:
            self._move_to_reflowed_cursor()
            super()._on_resize()

    def _redraw(self, render_as_done: bool = False) -> None:
        if render_as_done:  # at once: it is the last time
            if self._settling is not None or self._has_other_size():
                self._settling = None
                self._move_to_reflowed_cursor()
        elif self._settling is None and not self.aside and self._has_other_size():
            self._on_resize()  # its signal is still to come
        if self._settling is None:
            super()._redraw(render_as_done)

    def _has_other_size(self) -> bool:
        """Return whether the window changed since the last redraw."""
        drawn = self.renderer.last_rendered_screen
        return drawn is not None and self.renderer._last_size != self.output.get_size()

    def _move_to_reflowed_cursor(self) -> None:
        """Move up by the rows that the terminal's reflow has added: erasing moves up from there by the rows drawn."""
        if is_reflowing_terminal() and (rows := self._count_extra_rows()):
            self.output.cursor_up(rows)

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
