"""Frontend for a terminal that can only print lines (TERM=dumb, an editor's shell, a pipe)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cli.output.style.paint import spell_typography, use_words
from cli.output.style.terminal import Terminal
from cli.tui.frontend import Answer, Choice, InputHandler, Option, Pages, Question
from cli.tui.questions.shown_change import format_whole_change
from cli.tui.questions.waiting_time import WaitingTime
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.model.protocol import RetryWait


def open_plain_frontend() -> PlainFrontend:
    """Return a frontend, and use words in place of marks: what it prints is read out, or seen without a drawing."""
    use_words()
    return PlainFrontend()


class PlainFrontend:
    """`Frontend` that prints lines, without control sequences. The terminal itself echoes and edits input."""

    redraws = False

    def __init__(self) -> None:
        self.echoes = sys.stdin.isatty()
        self.waiting = WaitingTime()
        self.drawn = asyncio.Event()
        self.drawn.set()  # nothing to wait for
        self.stalled = False
        """Whether output blocked at the end because its reader had stopped: further writes would block for ever."""
        self._writing = False
        self._is_idle: Callable[[], bool] = lambda: False
        self._prompted = False  # the prompt is what was printed last
        self._closed = asyncio.Event()
        self._answer: asyncio.Future[str] | None = None

    async def run(self, host: InputHandler) -> None:
        """Run the conversation until it is closed or the input ends."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=_read_lines, args=(loop, lines.put_nowait), daemon=True).start()
        loop.add_signal_handler(signal.SIGINT, self._handle_interrupt, host)
        for number in (
            signal.SIGTERM,
            signal.SIGHUP,
        ):  # the loop handles them as well, but not while it writes
            signal.signal(number, self._handle_end_signal)
        self._is_idle = lambda: not host.is_working
        reading = asyncio.create_task(self._read_input(host, lines))
        loop.call_soon(self._print_prompt)
        try:
            await self._closed.wait()
        finally:
            reading.cancel()
            loop.remove_signal_handler(signal.SIGINT)

    def _handle_interrupt(self, host: InputHandler) -> None:
        if not host.interrupt():
            self.print("")  # only a new row, and the prompt again

    async def _read_input(self, host: InputHandler, lines: asyncio.Queue[str | None]) -> None:
        kept: list[str] = []
        while (line := await lines.get()) is not None:
            self._prompted = False
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(line.strip())
            elif line.endswith("\\"):
                kept.append(line[:-1])
            else:
                host.submit("\n".join([*kept, line]))
                kept = []
                self._print_prompt()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result("")
        await host.wait_until_idle()
        host.quit()

    @property
    def redraw_interval(self) -> float:
        return 0.0

    @property
    def terminal(self) -> Terminal:
        return replace(Terminal.from_stream(sys.stdout), colour=False, unicode=False)

    def print(self, text: str) -> None:
        """Print a text; on rows of its own where the prompt stands, which then follows again."""
        if self._prompted:
            self._prompted = False
            self._write("\n")
            asyncio.get_running_loop().call_soon(self._print_prompt)
        self._write(text)

    def _print_prompt(self) -> None:
        """Print the prompt, unless it stands there, nothing is read any more, or work goes on, and it follows then."""
        if not (self._prompted or self._closed.is_set()) and self._is_idle():
            self._write("> ")
            self._prompted = True

    def _write(self, text: str) -> None:
        """Write to the descriptor, bypassing `sys.stdout`, whose buffer would be written again at exit."""
        if self.stalled:
            return
        rest = memoryview(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
        try:
            self._writing = True
            while rest:
                rest = rest[os.write(sys.stdout.fileno(), rest) :]
        except _WriteInterrupted:
            self.stalled = True
        except OSError:  # the reader is gone; the log still gets everything
            self._closed.set()
        finally:
            self._writing = False

    def end_quickly(self) -> None:
        """Do nothing: only writing takes long here, and the signal handler has interrupted it."""

    def _handle_end_signal(self, number: int, frame: object) -> None:
        """Handle a termination signal; interrupt a write that blocks because its reader has stopped.

        The last messages may block as well: a timer repeats the check each second.
        """
        signal.signal(signal.SIGALRM, self._handle_end_signal)
        signal.setitimer(signal.ITIMER_REAL, _MOMENT)
        if self._writing:
            self._writing = False
            raise _WriteInterrupted

    def set_live_output(self, draw: Callable[[], str] | None) -> None:
        """Ignore it: nothing is redrawn; complete text arrives through `print`."""

    def show_last_output(self, line: str) -> None:
        """Ignore it: a command's output is printed when the command has ended."""

    def show_plan(self, items: Sequence[tuple[str, str]]) -> None:
        """Ignore it: changes of the plan are printed as lines."""

    def alert(self, text: str) -> None:
        """Ignore it: not every terminal handles control characters, and the printed lines suffice."""

    def show_activity(self, doing: str) -> None:
        """Print the prompt when no activity is left, and none follows at once."""
        if not doing:
            asyncio.get_running_loop().call_soon(self._print_prompt)

    def show_retry(self, wait: RetryWait) -> None:
        """Ignore it: a line about it is printed."""

    def show_tokens(self, number: int) -> None:
        """Ignore it: the summary of the turn has them."""

    def show_queued(self, texts: Sequence[str]) -> None:
        if texts:
            self.print(f"(queued: {sanitize_text(texts[-1])})\n")

    def restore_input(self, text: str) -> None:
        self.print(f"(not delivered: {sanitize_text(text)})\n")

    async def ask(self, question: Question) -> Answer:
        about = f"{question.title.rstrip('?')}: {question.what}" if question.what else question.title
        why = f"why: {question.why}" if question.why else ""
        offered = "; ".join(_describe_option(each) for each in question.options)
        change = format_whole_change(question.change, self.terminal).removesuffix("\n")
        self.print("\n".join([*filter(None, (about, change, why)), f"{offered}? "]))
        with self.waiting:
            said = await self._read_answer()
        return parse_answer(said, question)

    async def pick(
        self, title: str, choices: Sequence[Choice], later: Awaitable[Sequence[Choice]] | None = None
    ) -> int | None:
        choices = [*choices, *(await later if later is not None else ())]
        rows = [
            spell_typography(f"{number}. {each.label}  {each.about}".rstrip())
            for number, each in enumerate(choices, 1)
        ]
        self.print("\n".join([title, *rows, "number, or nothing? "]))
        said = await self._read_answer()
        return int(said) - 1 if said.isdecimal() and 1 <= int(said) <= len(choices) else None

    async def edit_text(self, text: str, suffix: str) -> str | None:
        return None

    def send_control(self, sequence: str) -> bool:
        return False

    async def show_pages(self, title: str, pages: Pages) -> None:
        """Print the whole text from its beginning."""
        parts = []
        while lines := pages.load_earlier_lines():
            parts.append(lines)
        self.print("\n".join(line for lines in reversed(parts) for line in lines) + "\n")

    async def _read_answer(self) -> str:
        """Return the next line of input; "" at its end."""
        self._answer = asyncio.get_running_loop().create_future()
        try:
            return await self._answer
        finally:
            self._answer = None

    def close(self) -> None:
        self._closed.set()


def _describe_option(option: Option) -> str:
    about = f": {option.about}" if option.about else ""
    return f"{option.key} = {option.label}{about}"


def parse_answer(said: str, question: Question) -> Answer:
    """Return the answer of a line: its letter, number or name; any other text is sent with a refusal, if one can be."""
    word = said.lower()
    for number, each in enumerate(question.options, 1):
        if word and word in (each.key, str(number), each.name, {"y": "yes"}.get(each.key)):
            return Answer(name=each.name, text=each.text)
    told = next((each.name for each in question.options if each.line and not each.text), "")
    return Answer(name=told, text=said) if word and told else Answer(name=question.otherwise)


_MOMENT = 1.0
"""Seconds."""


class _WriteInterrupted(Exception):
    """A signal arrived during a write."""


def _read_lines(loop: asyncio.AbstractEventLoop, put: Callable[[str | None], None]) -> None:
    """Pass lines of standard input to the event loop; None at the end of input.

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
