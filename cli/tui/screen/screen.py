"""Frontend for a full terminal: printed text scrolls into the scrollback, a few lines at the bottom are redrawn."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer, ThreadedCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.styles import DynamicStyle
from prompt_toolkit.widgets import SearchToolbar

from cli.output.style.terminal import Terminal
from cli.tui.clipboard.image_key import ImagePaste
from cli.tui.frontend import Answer, Choice, InputHandler, Pages, Question
from cli.tui.input.input_history import PrivateHistory
from cli.tui.input.key_bindings import KeyCallbacks, build_key_bindings
from cli.tui.input.keyboard import LONE_ESCAPE, Keyboard
from cli.tui.input.lazy_completer import LazyCompleter
from cli.tui.input.pastes import Pastes
from cli.tui.questions.waiting_time import WaitingTime
from cli.tui.screen.background_query import BackgroundQuery
from cli.tui.screen.input_layout import build_layout
from cli.tui.screen.live_region import LiveRegion, make_style
from cli.tui.screen.reflow import ReflowingApplication
from cli.tui.screen.row_shift import print_in_place
from cli.tui.screen.terminal_writer import TerminalWriter

if TYPE_CHECKING:
    from agent.model.protocol import RetryWait
    from cli.tui.questions.question_prompt import QuestionPrompt

FRAME = 0.016
"""Minimum seconds between two redraws; faster updates are drawn together."""

STREAMED = 0.05
"""Seconds between two redraws of a streaming answer: faster than reading speed."""

SHARE = 6
"""Delay before the next redraw of a stream, as a multiple of the last redraw's duration (slow machine or line)."""

SLOWEST = 0.15
"""Maximum seconds between two redraws of a stream, so that progress is visible."""

ESCAPE = 0.3
"""Seconds to wait for a key after Esc (Alt-Enter, Esc Esc) before it counts as Esc alone."""


class Screen:
    """`Frontend` over one prompt_toolkit application that lives as long as the conversation.

    The prompt is permanent: keys are read, and never echoed by the terminal, during output, so that typing, output
    and Ctrl-C cannot interfere with each other.
    """

    redraws = True
    echoes = False  # the prompt is erased

    def __init__(
        self,
        *,
        history: Path,
        completer: Callable[[], Completer | None],
        keys: Mapping[str, Sequence[str]],
        vi: bool = False,
        alert: str = "bell",
        pause: float = 0.0,
        images: Path | None = None,
    ) -> None:
        """
        pause: seconds without a key after which keys answer a question that was asked while the user typed
        images: folder for pasted images
        """
        self.drawn = asyncio.Event()
        """Set once the prompt is drawn: slow work may begin."""
        self._pending: list[str] = []
        self._began = self._drawing = 0.0  # when the last redraw began, and how long it took
        self.waiting = WaitingTime()
        self._live = LiveRegion(
            terminal=lambda: self.terminal,
            held=lambda: self._is_question_held(),
            waiting=self.waiting,
            count_typed=lambda: self._buffer.document.line_count,
        )
        self._keys = keys
        self._vi = vi
        self._alert = alert
        self._pause = pause
        self._typed = float("-inf")  # time of the last text input
        self.stalled = False
        """Whether the terminal was not read at the end: further writes would block for ever."""
        self._hurried = False
        self._gone = False  # the terminal was closed: nothing can be shown
        self._app: ReflowingApplication[None] | None = None
        self._output = TerminalWriter()
        self._background = BackgroundQuery()
        self._keyboard = Keyboard(self._output.drain_briefly, self._background.take_reply, self.send_control)
        self._output.emptied = self._invalidate
        self._search = SearchToolbar(ignore_case=True)
        self._pastes = Pastes()
        self._images = ImagePaste(images, self.print)
        self._completer = LazyCompleter(completer)
        self._buffer = Buffer(
            completer=ThreadedCompleter(self._completer),
            complete_while_typing=Condition(self._can_complete),
            history=PrivateHistory(history),
            tempfile_suffix=".md",
            multiline=True,
            on_text_insert=lambda buffer: self._record_typing(),
        )

    async def run(self, host: InputHandler) -> None:
        """Run the conversation until it is closed or the terminal goes away."""
        self._live.footer, self._live.purpose = host.format_footer, host.describe_input
        self._app = ReflowingApplication(
            layout=build_layout(self._live, self._buffer, self._search, lambda: self.terminal.rows),
            key_bindings=build_key_bindings(self._make_key_callbacks(host), self._pastes, self._keys),
            style=DynamicStyle(make_style),
            input=self._keyboard,
            output=self._output,
            editing_mode=EditingMode.VI if self._vi else EditingMode.EMACS,
            erase_when_done=True,
            min_redraw_interval=FRAME,
            before_render=self._print_pending,
            after_render=lambda app: self._finish_redraw(),
        )
        self._app.ttimeoutlen, self._app.timeoutlen = LONE_ESCAPE, ESCAPE
        self._keyboard.is_escape_final = lambda: host.is_working  # nothing is rewound then
        ticking = asyncio.create_task(self._tick())
        try:
            await self._app.run_async(set_exception_handler=False)
        except (EOFError, OSError):  # the terminal was closed
            self._gone = True
            host.quit()
        finally:
            ticking.cancel()
            self._keyboard.end_kitty_keys()
            self._flush_pending()
            while not (self._gone or self._hurried or await self._output.wait_until_drained(patience=0.2)):
                pass  # the terminal is not being read: keep the output unless a signal demands the end
            self.stalled = not self._output.is_drained
            self._output.close()

    @property
    def redraw_interval(self) -> float:
        return min(max(STREAMED, self._drawing * SHARE), SLOWEST)

    @property
    def terminal(self) -> Terminal:
        return Terminal.from_stream(sys.stdout)

    def print(self, text: str) -> None:
        self._pending.append(text)
        self._invalidate()

    def set_live_output(self, draw: Callable[[], str] | None) -> None:
        self._live.draw = draw
        self._invalidate()

    def show_activity(self, doing: str) -> None:
        if self._live.working.begin(doing):
            self._live.tail = ""
            self._invalidate()

    def show_retry(self, wait: RetryWait) -> None:
        self._live.working.wait_for_retry(wait)
        self._invalidate()

    def show_tokens(self, number: int) -> None:
        self._live.working.tokens = number

    def show_last_output(self, line: str) -> None:
        if line != self._live.tail:
            self._live.tail = line
            self._invalidate()

    def show_plan(self, items: Sequence[tuple[str, str]]) -> None:
        self._live.plan = items
        self._invalidate()

    def show_queued(self, texts: Sequence[str]) -> None:
        self._live.queued = list(texts)
        self._invalidate()

    def restore_input(self, text: str) -> None:
        typed = self._buffer.text
        self._buffer.text = f"{text}\n{typed}" if typed else text
        self._buffer.cursor_position = len(self._buffer.text)
        self._invalidate()

    def alert(self, text: str) -> None:
        if self._gone or self._alert == "off":
            return
        sign = f"\x1b]9;Patchwright: {text}\x07" if self._alert == "osc9" else "\a"
        self.send_control(sign)

    async def ask(self, question: Question) -> Answer:
        if self._gone:
            return Answer(name=question.otherwise)
        from cli.tui.questions.question_prompt import QuestionPrompt

        asking = QuestionPrompt(question, asyncio.get_running_loop().create_future(), came=time.monotonic())
        self._live.asking = asking
        frame = asking.make_frame(self.terminal, rows=self._live.count_question_rows(), held=False)
        if not frame.has_whole_command or (question.is_printed and not frame.fits):
            self._print_question()
        if self._is_question_held():
            asyncio.get_running_loop().call_later(self._pause, self._invalidate)
        self._invalidate()
        try:
            with self.waiting:
                return await asking.answer
        finally:
            asking.leave_line(self._buffer)
            self._live.asking = None
            self._typed = float("-inf")  # typing the answer does not hold back the next question
            self._invalidate()

    async def pick(
        self, title: str, choices: Sequence[Choice], later: Awaitable[Sequence[Choice]] | None = None
    ) -> int | None:
        if self._gone or not choices:
            return None
        from cli.tui.screen.picker import run_picker

        async with self._lend_terminal():
            return await run_picker(
                title, choices, self._keyboard, self._output, lambda: self.terminal, later
            )

    async def edit_text(self, text: str, suffix: str) -> str | None:
        if self._gone:
            return None
        buffer = Buffer(document=Document(text), tempfile_suffix=suffix)
        await buffer.open_in_editor()
        ending = "\n" if text.endswith("\n") and buffer.text else ""  # which the buffer leaves out
        return buffer.text + ending

    def send_control(self, sequence: str) -> bool:
        if self._gone:
            return False
        self._output.write_raw(sequence)
        self._output.flush()
        return True

    async def show_pages(self, title: str, pages: Pages) -> None:
        if self._gone:
            return
        from cli.tui.screen.pager import run_pager

        async with self._lend_terminal():
            await run_pager(title, pages, self._keyboard, self._output, lambda: self.terminal)

    def refresh_completions(self) -> None:
        """Recompute the completions of the prompt's text. May be called in any thread."""
        if (app := self._app) is not None and (loop := app.loop) is not None:
            with suppress(RuntimeError):  # the loop has just ended
                loop.call_soon_threadsafe(self._request_completions, loop, self._completer.asked)

    def end_quickly(self) -> None:
        """End on a signal, without waiting for the remaining output to be read."""
        self._hurried = True

    def close(self) -> None:
        if self._app is not None and self._app.is_running:
            self._app.exit()

    @asynccontextmanager
    async def _lend_terminal(self) -> AsyncIterator[None]:
        """Lend the terminal to another application; printed text waits."""
        if self._app is None:
            return
        with self._keyboard.lend_keys(self._app):
            async with in_terminal():
                self._flush_pending()
                self._app.aside = True
                try:
                    yield
                finally:
                    self._app.aside = False

    def _make_key_callbacks(self, host: InputHandler) -> KeyCallbacks:
        return KeyCallbacks(
            submit=lambda text: self._submit_text(host, text),
            interrupt=host.interrupt,
            leave=host.quit,
            unfold=host.show_transcript,
            rewind=host.offer_rewind,
            recall=host.pop_queued,
            cycle=host.cycle_access,
            asking=self._get_asking,
            show=self._print_question,
            paste_image=self._images.insert_image,
        )

    def _get_asking(self) -> QuestionPrompt | None:
        """Return the question that takes the keys: those that come with its answer, at once, go to the prompt."""
        asking = self._live.asking
        return None if asking is None or asking.answer.done() or self._is_question_held() else asking

    def _record_typing(self) -> None:
        """Record the time of a text input."""
        asking = self._live.asking
        if asking is not None and asking.typing is not None:
            return  # it is the answer
        self._typed = time.monotonic()
        if asking is not None:
            asyncio.get_running_loop().call_later(self._pause, self._invalidate)

    def _is_question_held(self) -> bool:
        """Return whether a question came while the user typed, so that keys go to the prompt until a pause."""
        asking = self._live.asking
        if asking is None or asking.typing is not None:
            return False
        return self._typed > asking.came - self._pause and time.monotonic() < self._typed + self._pause

    def _submit_text(self, host: InputHandler, text: str) -> None:
        self._typed = float("-inf")  # after sending, the user is no longer typing
        host.submit(text)

    def _invalidate(self) -> None:
        """Request a redraw; if the terminal has not accepted the last one yet, it follows when it has."""
        if self._app is not None and not self._gone and self._output.is_drained:
            self._app.invalidate()

    async def _tick(self) -> None:
        """Redraw once a second while there is activity: enough to show progress, and cheap over ssh."""
        while True:
            await asyncio.sleep(1)
            if self._live.working.doing:
                self._invalidate()

    def _print_pending(self, app: Application[None]) -> None:
        """Before a redraw: erase the live region and print pending text; the region is then drawn below it."""
        self._began = time.monotonic()
        self._output.write_raw(_BEGIN)
        self._live.refresh()
        text = "".join(self._pending)
        if not self._gone and print_in_place(app, text, self._live.find_fixed_row):
            self._pending = []
        elif text:
            app.renderer.erase()
            self._flush_pending()

    def _flush_pending(self) -> None:
        text, self._pending = "".join(self._pending), []
        if text and not self._gone:
            self._output.write_raw(text.replace("\n", "\r\n"))
            self._output.flush()

    def _finish_redraw(self) -> None:
        self._output.write_raw(_END)
        if not self.drawn.is_set():
            self._output.write_raw(self._background.ask() + self._keyboard.ask_kitty_keys())
        self._output.flush()
        self._drawing = time.monotonic() - self._began
        self.drawn.set()

    def _request_completions(self, loop: asyncio.AbstractEventLoop, asked: int) -> None:
        """Start completion repeatedly until the completer was called more than `asked` times: the buffer ignores the
        request while completions are being gathered or shown."""
        state = self._buffer.complete_state
        chosen = state is not None and state.current_completion is not None
        if chosen or not self._can_complete() or self._completer.asked != asked:
            return
        self._buffer.complete_state = None
        self._buffer.start_completion()
        loop.call_later(_AGAIN, self._request_completions, loop, asked)

    def _can_complete(self) -> bool:
        text = self._buffer.document.text_before_cursor
        return text.startswith("/") or text.rpartition(" ")[2].rpartition("\n")[2].startswith("@")

    def _print_question(self) -> None:
        """Print the whole question, so that it can be scrolled through."""
        if self._live.asking is not None:
            from cli.tui.questions.question_frame import format_whole_question

            self.print("\n" + format_whole_question(self._live.asking.question, self.terminal))


_AGAIN = 0.05
"""Seconds until completions are requested again."""

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Synchronised output (DEC mode 2026): terminals that support it show a redraw at once; the others ignore it."""
