"""Pager in the terminal's alternate screen; the text is loaded page by page, from its end backwards."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.output import Output

from cli.output.style.terminal import Terminal, measure_columns, truncate_text
from cli.tui.frontend import Pages
from cli.tui.screen.live_region import make_style


async def run_pager(
    title: str, pages: Pages, keyboard: Input, output: Output, terminal: Callable[[], Terminal]
) -> None:
    """Show the pager until the user leaves it, as with q or Esc."""
    await (
        _Viewer(title, pages, terminal)
        .make_application(keyboard, output)
        .run_async(set_exception_handler=False)
    )


class _Viewer:
    """Pager state: `_lines` are those loaded so far; `_below` counts the lines below the last one shown."""

    def __init__(self, title: str, pages: Pages, terminal: Callable[[], Terminal]) -> None:
        self._title = title
        self._pages = pages
        self._terminal = terminal
        self._lines: list[str] = []
        self._whole = False
        self._below = 0  # lines below the last one shown
        self._query = Buffer(multiline=False)
        self._searching = False
        self._found = ""

    def make_application(self, keyboard: Input, output: Output) -> Application[None]:
        text = Window(FormattedTextControl(self._format_text, focusable=True), wrap_lines=False)
        prompt = Window(
            BufferControl(self._query),
            height=Dimension.exact(1),
            get_line_prefix=lambda *_: [("class:prompt", "search: ")],
        )
        searching = Condition(lambda: self._searching)
        foot = Window(FormattedTextControl(self._format_footer), height=Dimension.exact(1))
        parts = [
            text,
            ConditionalContainer(prompt, filter=searching),
            ConditionalContainer(foot, filter=~searching),
        ]
        return Application(
            layout=Layout(HSplit(parts), focused_element=text),
            key_bindings=self._make_key_bindings(text, prompt),
            style=make_style(),
            input=keyboard,
            output=output,
            full_screen=True,
        )

    def _make_key_bindings(self, text: Window, prompt: Window) -> KeyBindings:
        keys = KeyBindings()
        free = Condition(lambda: not self._searching)
        moves: dict[str, int | Callable[[], int]] = {
            "up": 1, "k": 1, "down": -1, "j": -1,
            "pageup": self._count_rows, "b": self._count_rows,
            "pagedown": lambda: -self._count_rows(), " ": lambda: -self._count_rows(),
            "home": self._load_all, "g": self._load_all, "end": lambda: -self._below, "G": lambda: -self._below,
        }  # fmt: skip
        for key, by in moves.items():
            keys.add(key, filter=free)(self._make_mover(by))

        @keys.add("q", filter=free)
        @keys.add("escape", filter=free, eager=True)
        @keys.add("c-o", filter=free)
        @keys.add("c-c")
        @keys.add("c-d")
        def leave(event: KeyPressEvent) -> None:
            event.app.exit()

        @keys.add("/", filter=free)
        def search(event: KeyPressEvent) -> None:
            self._searching = True
            self._query.reset()
            event.app.layout.focus(prompt)

        @keys.add("n", filter=free)
        def search_again(event: KeyPressEvent) -> None:
            self._search(self._query.text)

        @keys.add("enter", filter=~free)
        def accept_query(event: KeyPressEvent) -> None:
            self._searching = False
            event.app.layout.focus(text)
            self._search(self._query.text)

        @keys.add("escape", filter=~free, eager=True)
        def leave_search(event: KeyPressEvent) -> None:
            self._searching = False
            event.app.layout.focus(text)

        return keys

    def _make_mover(self, by: int | Callable[[], int]) -> Callable[[KeyPressEvent], None]:
        def move(event: KeyPressEvent) -> None:
            self._scroll(by if isinstance(by, int) else by())

        return move

    def _scroll(self, lines: int) -> None:
        self._load_lines(self._below + lines + self._count_rows())
        self._below = min(max(self._below + lines, 0), max(len(self._lines) - self._count_rows(), 0))

    def _load_lines(self, lines: int) -> None:
        while not self._whole and len(self._lines) < lines:
            earlier = self._pages.load_earlier_lines()
            self._whole = not earlier
            self._lines[:0] = earlier

    def _load_all(self) -> int:
        self._load_lines(1 << 60)
        return len(self._lines)

    def _search(self, query: str) -> None:
        """Scroll to the nearest line above that contains the text, loading earlier lines as needed."""
        words, room = query.strip().lower(), self._count_rows()
        if not words:
            return
        place = self._below + room  # lines from the end, of the line above the first shown
        while True:
            self._load_lines(place + 1)
            if place >= len(self._lines):
                self._found = f"not found: {query}"
                return
            if words in self._lines[len(self._lines) - 1 - place].lower():
                self._found = ""
                self._below = max(place - room + 1, 0)
                return
            place += 1

    def _count_rows(self) -> int:
        return max(self._terminal().rows - 1, 1)

    def _format_text(self) -> StyleAndTextTuples:
        room = self._count_rows()
        self._load_lines(self._below + room)
        end = len(self._lines) - self._below
        shown = self._lines[max(end - room, 0) : end]
        return to_formatted_text(ANSI("\n".join(shown)))

    def _format_footer(self) -> StyleAndTextTuples:
        place = "end" if not self._below else f"{self._below} lines from the end"
        words = (
            self._found or f"{place} · ↑↓ PgUp PgDn Home End · / search · n next · q leaves · {self._title}"
        )
        columns = self._terminal().columns - 1
        words = truncate_text(words, columns)
        return [("class:chosen", words + " " * (columns - measure_columns(words)))]
