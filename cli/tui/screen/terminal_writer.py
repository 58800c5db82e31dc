"""Non-blocking output to the terminal: a terminal that is not read must not block the program."""

from __future__ import annotations

import asyncio
import os
import select
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from cli.output.diff.diff_colours import find_colour_depth
from cli.output.style.terminal import Terminal
from cli.output.style.theme import has_colours


class TerminalWriter(Vt100_Output):
    """prompt_toolkit's terminal output; data that the terminal does not accept at once is queued in order.

    The terminal is opened a second time: O_NONBLOCK belongs to the open file description, and the inherited one is
    shared with the shell.

    emptied: called when the terminal has accepted all queued data
    """

    def __init__(self) -> None:
        # Without cursor position requests: they need an answer, which a slow line delays.
        super().__init__(
            sys.stdout,
            _read_size,
            term=os.environ.get("TERM"),
            enable_cpr=False,
        )
        self.emptied: Callable[[], None] = lambda: None
        self._waiting: deque[memoryview] = deque()
        self._taken = asyncio.Event()
        self._taken.set()
        self._own = _reopen_terminal()
        self._loop = asyncio.get_running_loop()

    def get_default_color_depth(self) -> ColorDepth:
        """Return the colours that the theme in use, which may change, has and the terminal shows.

        Those of the sixteen that are named are written as such in every depth: they follow the terminal's theme.
        """
        return _DEPTHS.get(find_colour_depth(), ColorDepth.DEPTH_4_BIT) if has_colours() else _MONO

    @property
    def is_drained(self) -> bool:
        """Whether the queue is empty, so that a redraw is visible at once."""
        return not self._waiting

    def write(self, data: str) -> None:
        """Write a part of the live region, with each character in its computed column (see `_JOINING`)."""
        super().write(data if data.isascii() else data.translate(_JOINING))

    def erase_down(self) -> None:
        """Erase from the first column of a row to the end of the window.

        Not in one step: if that is the whole window, tmux moves its text into the scrollback.
        """
        self.erase_end_of_line()
        self.cursor_forward(1)
        super().erase_down()
        self.write_raw("\r")

    def flush(self) -> None:
        """Write the buffer, or queue it. Raises OSError when the terminal is gone."""
        if self._own is None:
            super().flush()
            return
        text = "".join(self._buffer)
        self._buffer = []
        if not text:
            return
        first = self.is_drained
        self._waiting.append(memoryview(text.encode(sys.stdout.encoding or "utf-8", "replace")))
        if first and not self._write_waiting():
            self._taken.clear()
            self._loop.add_writer(self._own, self._continue_writing)

    async def wait_until_drained(self, *, patience: float) -> bool:
        """Wait at most `patience` seconds until the queue is empty; return whether it is (or the terminal is gone)."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._taken.wait()
        return self.is_drained

    def drain_briefly(self) -> None:
        """Write queued data before another program uses the terminal, for at most a second."""
        until = time.monotonic() + _MOMENT
        while self._own is not None and self._waiting and (left := until - time.monotonic()) > 0:
            select.select([], [self._own], [], left)
            self._continue_writing()

    def close(self) -> None:
        """Drop the queued data and close the terminal."""
        self._waiting.clear()
        if self._own is not None:
            self._loop.remove_writer(self._own)
            os.close(self._own)
            self._own = None

    def _continue_writing(self) -> None:
        try:
            done = self._write_waiting()
        except OSError:  # the terminal is gone; the keyboard input reports that too
            self._waiting.clear()
            done = True
        if done and self._own is not None:
            self._loop.remove_writer(self._own)
            self._taken.set()
            self.emptied()

    def _write_waiting(self) -> bool:
        """Write as much as the terminal accepts; return whether that was all."""
        assert self._own is not None
        while self._waiting:
            piece = self._waiting.popleft()
            try:
                written = os.write(self._own, piece)
            except BlockingIOError:
                written = 0
            if written < len(piece):
                self._waiting.appendleft(piece[written:])
                return False
        return True


_MONO = ColorDepth.DEPTH_1_BIT
_DEPTHS = {256: ColorDepth.DEPTH_8_BIT, 1 << 24: ColorDepth.DEPTH_24_BIT}
"""By number of colours; fewer are the sixteen of every terminal."""

_JOINING: Mapping[int, str | None] = {
    0x200D: None,  # joins emoji into one
    0xFE0E: None,  # text or emoji: one column, or two
    0xFE0F: None,
    **dict.fromkeys(range(0x1F3FB, 0x1F400), "  "),  # skin tones
    **{0x1F1E6 + number: chr(0xFF21 + number) for number in range(26)},  # two letters make a flag
}
"""Characters that some terminals merge with the one before, and others draw next to it. In the live region the cursor
moves to columns computed character by character: the text after them would be drawn into the wrong columns."""

_MOMENT = 1.0
"""Seconds."""


def _reopen_terminal() -> int | None:
    """Open the terminal of standard output for non-blocking writes; return None if that is impossible."""
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    with suppress(OSError):
        return os.open(os.ttyname(sys.stdout.fileno()), flags)
    return None


def _read_size() -> Size:
    terminal = Terminal.from_stream(sys.stdout)
    return Size(rows=terminal.rows, columns=terminal.columns)
