"""The conversation on a terminal that can only print lines (TERM=dumb, an editor's shell, a pipe)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from cli.render.terminal import Terminal
from cli.repl.front import Answer
from sandbox.inert import inert

if TYPE_CHECKING:
    from cli.repl.chat import Chat


ANSWERS: Mapping[str, Answer] = {"y": "once", "yes": "once", "a": "always", "always": "always"}
"""Whatever else is typed is a no."""


class Plain:
    """A `Front` of lines: no control sequence is ever written. The terminal itself echoes and edits."""

    redraws = False

    def __init__(self) -> None:
        self._closed = asyncio.Event()
        self._answer: asyncio.Future[Answer] | None = None

    async def run(self, chat: Chat) -> None:
        """Hold the conversation until it is closed or the input ends."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=_read_lines, args=(loop, lines.put_nowait), daemon=True).start()
        loop.add_signal_handler(signal.SIGINT, self._interrupt, chat)
        reading = asyncio.create_task(self._read(chat, lines))
        self.print("> ")
        try:
            await self._closed.wait()
        finally:
            reading.cancel()
            loop.remove_signal_handler(signal.SIGINT)

    def _interrupt(self, chat: Chat) -> None:
        if not chat.interrupt():
            self.print("\n> ")

    async def _read(self, chat: Chat, lines: asyncio.Queue[str | None]) -> None:
        kept: list[str] = []
        while (line := await lines.get()) is not None:
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(ANSWERS.get(line.strip().lower(), "no"))
            elif line.endswith("\\"):
                kept.append(line[:-1])
            else:
                chat.submit("\n".join([*kept, line]))
                kept = []
                if not chat.working:
                    self.print("> ")
        await chat.finished()
        chat.quit()

    @property
    def terminal(self) -> Terminal:
        return Terminal.of(sys.stdout)

    def print(self, text: str) -> None:
        try:
            encoding = sys.stdout.encoding or "utf-8"
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
            sys.stdout.flush()
        except OSError:  # the reader is gone; the log still gets everything
            self._closed.set()

    def live(self, text: str) -> None:
        """Nothing is redrawn here: the text comes by `print` once it is whole."""

    def busy(self, doing: str) -> None:
        """The end of the work is the moment to prompt again."""
        if not doing:
            self.print("> ")

    def queued(self, texts: Sequence[str]) -> None:
        if texts:
            self.print(f"(queued: {inert(texts[-1])})\n")

    def refill(self, text: str) -> None:
        self.print(f"(not delivered: {inert(text)})\n")

    async def ask(self, question: str, always: str) -> Answer:
        choices = f"{always}\nyes, no or always? " if always else "yes or no? "
        self.print(f"{question}\n{choices}")
        self._answer = asyncio.get_running_loop().create_future()
        try:
            return await self._answer
        finally:
            self._answer = None

    def close(self) -> None:
        self._closed.set()


def _read_lines(loop: asyncio.AbstractEventLoop, put: Callable[[str | None], None]) -> None:
    """Lines of standard input to the event loop; None at its end.

    Read from the descriptor: a thread blocked in `sys.stdin` would hold its lock when Python exits.
    """
    rest = b""
    while True:
        try:
            piece = os.read(0, 65536)
        except OSError:  # the terminal is gone
            piece = b""
        *whole, rest = (rest + piece).split(b"\n")
        if not piece and rest:
            whole, rest = [rest], b""
        try:
            for line in whole:
                loop.call_soon_threadsafe(put, line.rstrip(b"\r").decode("utf-8", "replace"))
            if not piece:
                loop.call_soon_threadsafe(put, None)
                return
        except RuntimeError:  # the loop is closed: the conversation is over
            return
