"""What goes to the terminal, without ever waiting for it: one that is not read must not stop the program."""

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

from cli.output.style.terminal import Terminal
from cli.output.style.theme import has_colours


class TerminalWriter(Vt100_Output):
    """prompt_toolkit's output of a terminal; what that does not take at once waits here, in its order.

    The terminal is opened a second time for it: whether a write may wait belongs to the open file, and the one that
    we were given is the shell's as well.

    emptied: called when the terminal has taken all that had to wait
    """

    def __init__(self) -> None:
        # Without cursor position requests: they need an answer, which a slow line delays.
        super().__init__(
            sys.stdout,
            _read_size,
            term=os.environ.get("TERM"),
            default_color_depth=_choose_colour_depth(),
            enable_cpr=False,
        )
        self.emptied: Callable[[], None] = lambda: None
        self._waiting: deque[memoryview] = deque()
        self._taken = asyncio.Event()
        self._taken.set()
        self._own = _reopen_terminal()
        self._loop = asyncio.get_running_loop()

    @property
    def is_drained(self) -> bool:
        """Nothing waits: what is drawn now is seen now."""
        return not self._waiting

    def write(self, data: str) -> None:
        """A part of the live region, of which each character stands where it was reckoned to (`_JOINING`)."""
        super().write(data if data.isascii() else data.translate(_JOINING))

    def erase_down(self) -> None:
        """Erase from the first column of a row to the end of the window.

        Not at once: where that is all of the window, tmux keeps what stood there in its scrollback.
        """
        self.erase_end_of_line()
        self.cursor_forward(1)
        super().erase_down()
        self.write_raw("\r")

    def flush(self) -> None:
        """Hand over what was written. Raises OSError when the terminal is gone."""
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
        """Wait until all is taken, so many seconds at most; whether it was. A terminal that is gone takes nothing."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._taken.wait(), patience)
        return self.is_drained

    def drain_briefly(self) -> None:
        """Another program is to write to the terminal: let it take what waits, if it does so within a moment."""
        until = time.monotonic() + _MOMENT
        while self._own is not None and self._waiting and (left := until - time.monotonic()) > 0:
            select.select([], [self._own], [], left)
            self._continue_writing()

    def close(self) -> None:
        """Give up what still waits."""
        self._waiting.clear()
        if self._own is not None:
            self._loop.remove_writer(self._own)
            os.close(self._own)
            self._own = None

    def _continue_writing(self) -> None:
        try:
            done = self._write_waiting()
        except OSError:  # the terminal is gone; whoever reads its keys sees that too
            self._waiting.clear()
            done = True
        if done and self._own is not None:
            self._loop.remove_writer(self._own)
            self._taken.set()
            self.emptied()

    def _write_waiting(self) -> bool:
        """Write as much as is taken; whether that was all."""
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


_JOINING: Mapping[int, str | None] = {
    0x200D: None,  # joins emoji into one
    0xFE0E: None,  # text or emoji: one column, or two
    0xFE0F: None,
    **dict.fromkeys(range(0x1F3FB, 0x1F400), "  "),  # the colour of a skin
    **{0x1F1E6 + number: chr(0xFF21 + number) for number in range(26)},  # two letters make a flag
}
"""What some terminals draw as one with the character before it, and others beside it. In the live region the cursor is
moved to columns that are reckoned character by character: what follows would be drawn into the wrong ones."""

_MOMENT = 1.0
"""Seconds."""


def _reopen_terminal() -> int | None:
    """The terminal of our standard output, opened for writing that does not wait; None where that cannot be."""
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    with suppress(OSError):
        return os.open(os.ttyname(sys.stdout.fileno()), flags)
    return None


def _read_size() -> Size:
    terminal = Terminal.from_stream(sys.stdout)
    return Size(rows=terminal.rows, columns=terminal.columns)


def _choose_colour_depth() -> ColorDepth:
    return ColorDepth.DEPTH_4_BIT if has_colours() else ColorDepth.DEPTH_1_BIT
