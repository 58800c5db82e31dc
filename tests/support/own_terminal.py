"""A terminal of this very process: what the terminal front-end draws, in any size and theme, without a start of the
program."""

from __future__ import annotations

import asyncio
import fcntl
import os
import struct
import sys
import termios
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pyte
import pytest

from cli.tui.frontend import Styled
from cli.tui.screen.screen import Screen

PATIENCE = 30.0


class Host:
    """A conversation that does nothing. footer: returns its line for a number of columns"""

    is_working = False

    def __init__(self, footer: Callable[[int], Styled]) -> None:
        self.format_footer = footer

    def submit(self, text: str) -> None:
        """Nothing is sent."""

    def interrupt(self) -> bool:
        return False

    def pop_queued(self) -> str:
        return ""

    def offer_rewind(self) -> None:
        """There is nothing to go back to."""

    def show_transcript(self) -> None:
        """It is shown by the test."""

    def cycle_access(self) -> None:
        """There is only one way to work."""

    def quit(self) -> None:
        """The test ends it."""

    async def wait_until_idle(self) -> None:
        """It is."""

    def describe_input(self) -> str:
        return "say what to do, or / for commands"


class OwnTerminal:
    """A pseudo-terminal whose one end is this process's standard input and output, and the screen at its other end."""

    def __init__(self, columns: int, rows: int) -> None:
        self._master, self.slave = os.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.set_blocking(self._master, False)
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self._raw = b""

    def type(self, keys: str) -> None:
        """Send keys."""
        os.write(self._master, keys.encode())

    @property
    def text(self) -> str:
        """What stands on the screen, without trailing spaces and empty lines."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    async def wait(self, seen: str) -> None:
        """Read until a text is seen, and the redraw that shows it has ended."""
        await self._wait_until(lambda: self._raw.endswith(b"\x1b[?2026l") and seen in self.text, seen)

    async def wait_for_view(self, seen: str) -> None:
        """Read until a text is seen in a list or a pager, whose redraws have no mark at their end."""
        await self._wait_until(lambda: seen in self.text, seen)
        while await self._read_more(pause=0.02):
            pass

    async def _wait_until(self, holds: Callable[[], bool], seen: str) -> None:
        until = time.monotonic() + PATIENCE
        while not holds():  # only asked again once there is more: the whole screen is compared
            while not await self._read_more(pause=0.001):
                assert time.monotonic() < until, f"waited for {seen!r} and saw:\n{self.text}"

    async def _read_more(self, pause: float) -> bool:
        """Read what was drawn until now, or else in the next moment; return whether there was anything."""
        await asyncio.sleep(pause)
        there = False
        with suppress(BlockingIOError):
            while data := os.read(self._master, 65536):
                self._raw, there = (self._raw + data)[-20:], True
                self._stream.feed(data)
        return there

    def close(self) -> None:
        os.close(self._master)


@asynccontextmanager
async def open_screen(
    columns: int, rows: int, footer: Callable[[int], Styled], history: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Screen, OwnTerminal]]:
    """The front-end on a terminal of this size, with its prompt drawn."""
    terminal = OwnTerminal(columns, rows)
    with (
        os.fdopen(os.dup(terminal.slave), "r", encoding="utf-8") as stdin,
        os.fdopen(terminal.slave, "w", encoding="utf-8") as stdout,
        monkeypatch.context() as patch,
    ):
        patch.setattr(sys, "stdin", stdin)
        patch.setattr(sys, "stdout", stdout)
        front = Screen(history=history, completer=lambda: None, keys={})
        running = asyncio.create_task(front.run(Host(footer)))
        try:
            await front.drawn.wait()
            yield front, terminal
        finally:
            front.close()
            reading = asyncio.create_task(_drain(terminal))
            await running
            reading.cancel()
    terminal.close()


async def _drain(terminal: OwnTerminal) -> None:
    while True:
        await terminal._read_more(pause=0.01)
