"""The terminal as a front: what is printed scrolls away for good, a few lines at the bottom are redrawn."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.data_structures import Size
from prompt_toolkit.filters import Condition, is_done
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, StyleAndTextTuples
from prompt_toolkit.layout import (
    AnyContainer,
    BufferControl,
    CompletionsMenu,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from cli.render.summary import duration
from cli.render.terminal import Terminal, fit, wrapped
from cli.repl.completion import Completions
from cli.repl.front import Answer
from cli.repl.history import PrivateHistory
from cli.repl.keys import bindings
from sandbox.inert import inert

if TYPE_CHECKING:
    from cli.repl.chat import Chat

INPUT_ROWS = 10
"""Rows the prompt grows to; a longer text scrolls inside it, so that a paste never fills the screen."""

FRAME = 0.016
"""Seconds between two redraws at least: what comes faster than a screen can show is drawn together."""

_STYLE = Style.from_dict(
    {
        "prompt": "ansicyan bold",
        "dim": "ansibrightblack",
        "busy": "ansiyellow",
        "question": "ansiyellow bold",
        "completion-menu": "noinherit",
        "completion-menu.completion": "",
        "completion-menu.completion.current": "reverse",
        "completion-menu.meta.completion": "ansibrightblack",
        "completion-menu.meta.completion.current": "reverse",
        "scrollbar.background": "",
        "scrollbar.button": "reverse",
    }
)
"""The terminal's own colours only, so that it reads on a light and on a dark background."""


class Screen:
    """A `Front` over one prompt_toolkit application that lives as long as the conversation.

    It is not a prompt that comes and goes: keys are read, and never echoed by the terminal, while
    anything is printed, so that typing, output and Ctrl-C cannot get into each other's way.
    """

    redraws = True

    def __init__(self, root: Path, history: Path, footer: Callable[[], str]) -> None:
        self._footer = footer
        self._pending: list[str] = []
        self._live = ""
        self._doing = ""
        self._since = 0.0
        self._queued: list[str] = []
        self._question = ""
        self._may_store = False
        self._answer: asyncio.Future[Answer] | None = None
        self._gone = False  # the terminal went away: there is nobody to show anything to
        self._app: Application[None] | None = None
        self._output = _output()
        self._search = SearchToolbar(ignore_case=True)
        self._buffer = Buffer(
            completer=ThreadedCompleter(Completions(root)),
            complete_while_typing=Condition(self._completable),
            history=PrivateHistory(history),
            multiline=True,
        )

    async def run(self, chat: Chat) -> None:
        """Hold the conversation until it is closed, or the terminal goes away."""
        self._app = Application(
            layout=self._layout(),
            key_bindings=bindings(
                submit=chat.submit,
                interrupt=chat.interrupt,
                leave=chat.quit,
                asked=lambda: self._answer is not None,
                answer=self._answered,
                view=self._view_question,
            ),
            style=_STYLE,
            output=self._output,
            erase_when_done=True,
            min_redraw_interval=FRAME,
            before_render=self._scroll,
            after_render=lambda app: self._shown(),
        )
        ticking = asyncio.create_task(self._tick())
        try:
            await self._app.run_async(set_exception_handler=False)
        except (EOFError, OSError):  # the terminal was closed
            self._gone = True
            chat.quit()
        finally:
            ticking.cancel()
            self._flush()

    @property
    def terminal(self) -> Terminal:
        return Terminal.of(sys.stdout)

    def print(self, text: str) -> None:
        self._pending.append(text)
        self._invalidate()

    def live(self, text: str) -> None:
        self._live = text
        self._invalidate()

    def busy(self, doing: str) -> None:
        if doing != self._doing:
            self._doing, self._since = doing, time.monotonic()
            self._invalidate()

    def queued(self, texts: Sequence[str]) -> None:
        self._queued = list(texts)
        self._invalidate()

    def refill(self, text: str) -> None:
        typed = self._buffer.text
        self._buffer.text = f"{text}\n{typed}" if typed else text
        self._buffer.cursor_position = len(self._buffer.text)
        self._invalidate()

    async def ask(self, question: str, always: str) -> Answer:
        if self._gone:
            return "no"
        self._may_store = bool(always)
        question = f"{question}\n{always}" if always else question
        self._question, self._answer = question, asyncio.get_running_loop().create_future()
        self._invalidate()
        try:
            return await self._answer
        finally:
            self._question, self._answer = "", None
            self._invalidate()

    def close(self) -> None:
        if self._app is not None and self._app.is_running:
            self._app.exit()

    def _answered(self, answer: Answer) -> None:
        if answer == "always" and not self._may_store:
            return
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def _invalidate(self) -> None:
        if self._app is not None and not self._gone:
            self._app.invalidate()

    async def _tick(self) -> None:
        """Once a second is enough to show that time passes; a calm screen is kind to eyes and to ssh."""
        while True:
            await asyncio.sleep(1)
            if self._doing:
                self._invalidate()

    def _scroll(self, app: Application[None]) -> None:
        """Before a redraw: take the live part away and print what is to stay, then it is drawn below."""
        if self._pending:
            self._output.write_raw(_BEGIN)
            app.renderer.erase()
            self._flush()

    def _flush(self) -> None:
        text, self._pending = "".join(self._pending), []
        if text and not self._gone:
            self._output.write_raw(text.replace("\n", "\r\n"))
            self._output.flush()

    def _shown(self) -> None:
        self._output.write_raw(_END)
        self._output.flush()

    def _completable(self) -> bool:
        word = self._buffer.document.text_before_cursor.rpartition(" ")[2].rpartition("\n")[2]
        return word.startswith(("/", "@"))

    def _layout(self) -> Layout:
        prompt = Window(
            BufferControl(self._buffer, search_buffer_control=self._search.control),
            height=lambda: Dimension(min=1, max=min(INPUT_ROWS, max(1, self.terminal.rows // 2))),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=_prefix,
        )
        parts: list[AnyContainer] = [
            _part(lambda: ANSI(self._live), lambda: bool(self._live)),
            _part(self._doing_line, lambda: bool(self._doing) and self._answer is None),
            _part(self._queued_lines, lambda: bool(self._queued)),
            _part(self._question_lines, lambda: self._answer is not None),
            _part(lambda: "", lambda: True),  # a blank line sets the prompt off
            prompt,
            self._search,
            CompletionsMenu(max_height=6),
            _part(self._footer_line, lambda: self.terminal.rows > 8),
        ]
        return Layout(HSplit(parts), focused_element=prompt)

    def _doing_line(self) -> StyleAndTextTuples:
        passed = time.monotonic() - self._since
        time_ = f" · {duration(int(passed)).replace('.0', '')}" if passed >= 1 else ""
        room = self.terminal.columns - len(time_) - 3
        return [("class:busy", "● " + fit(self._doing, room)), ("class:dim", time_)]

    def _queued_lines(self) -> StyleAndTextTuples:
        columns = self.terminal.columns
        first = [inert(text).partition("\n")[0] for text in self._queued[-3:]]
        return [("class:dim", "\n".join(fit(f"queued: {text}", columns - 1) for text in first))]

    def _question_lines(self) -> StyleAndTextTuples:
        """The whole question, or as much as the window holds and how to see the rest."""
        terminal = self.terminal
        lines = wrapped(self._question, terminal.columns - 1)
        room = max(terminal.rows - _BESIDE_QUESTION, 3)
        keys = "y yes, this once   n no" + ("   a always" if self._may_store else "")
        if len(lines) > room:
            keys = f"… {len(lines) - room + 1} more lines, press v to view them all\n{keys}"
            lines = lines[: room - 1]
        return [("class:question", "\n".join(lines)), ("", f"\n{keys}")]

    def _view_question(self) -> None:
        """Print all of it, to be scrolled through."""
        self.print("\n".join(wrapped(self._question, self.terminal.columns - 1)) + "\n")

    def _footer_line(self) -> StyleAndTextTuples:
        return [("class:dim", fit(self._footer(), self.terminal.columns - 1))]


_BESIDE_QUESTION = 8
"""Rows that the prompt, the footer, the keys and what is queued may take."""

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Synchronised output: a terminal that knows it shows a redraw as a whole; the others ignore it."""


def _output() -> Vt100_Output:
    """Without cursor position requests: they need an answer, which a slow line delays."""

    def size() -> Size:
        terminal = Terminal.of(sys.stdout)
        return Size(rows=terminal.rows, columns=terminal.columns)

    terminal = Terminal.of(sys.stdout)
    depth = ColorDepth.DEPTH_4_BIT if terminal.colour else ColorDepth.DEPTH_1_BIT
    return Vt100_Output(
        sys.stdout, size, term=os.environ.get("TERM"), default_color_depth=depth, enable_cpr=False
    )


def _part(text: Callable[[], AnyFormattedText], shown: Callable[[], bool]) -> ConditionalContainer:
    """Some lines of the live region, as high as their text."""
    window = Window(FormattedTextControl(text), dont_extend_height=True, wrap_lines=True)
    return ConditionalContainer(window, filter=Condition(shown) & ~is_done)


def _prefix(line: int, wrapped: int) -> StyleAndTextTuples:
    return [("class:prompt", "> " if line == wrapped == 0 else "  ")]
