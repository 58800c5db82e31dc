"""List picker: typing narrows the list, arrows move, Enter accepts, Esc leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import BufferControl, Dimension, HSplit, Layout, Window
from prompt_toolkit.output import Output

from cli.output.style.terminal import Terminal, measure_columns, truncate_text, wrap_words
from cli.tui.frontend import Choice
from cli.tui.input.fuzzy_match import rank_matches
from cli.tui.screen.live_region import make_part, make_style
from cli.tui.screen.reflow import ReflowingApplication

ROWS = 10
"""Maximum number of rows; longer lists scroll, or are narrowed by typing."""

PREVIEW = 5


async def run_picker(
    title: str,
    choices: Sequence[Choice],
    keyboard: Input,
    output: Output,
    terminal: Callable[[], Terminal],
    later: Awaitable[Sequence[Choice]] | None = None,
) -> int | None:
    """Show the picker; return the index of the chosen row, None if the user left. later: see `Frontend.pick`"""
    picker = _Picker(title, choices, terminal, waits=later is not None)
    app = picker.make_application(keyboard, output)
    adding = asyncio.create_task(picker.add_later(app, later)) if later is not None else None
    try:
        return await app.run_async(set_exception_handler=False)
    finally:
        if adding is not None:
            adding.cancel()


class _Picker:
    """`waits`: more rows may come."""

    def __init__(
        self, title: str, choices: Sequence[Choice], terminal: Callable[[], Terminal], *, waits: bool
    ) -> None:
        self._title = title
        self._choices = list(choices)
        self._terminal = terminal
        self._typed = Buffer(multiline=False, on_text_changed=lambda _: self._narrow())
        self._found = list(range(len(choices)))
        self._at = next((number for number, each in enumerate(choices) if each.current), 0)
        self._previews: dict[int, str] = {}
        self._waits = waits

    async def add_later(self, app: Application[int | None], later: Awaitable[Sequence[Choice]]) -> None:
        """Add rows once they are known; a row to which the user has moved stays selected."""
        try:
            self._choices += await later
        finally:
            self._waits = False
        selected = self._found[self._at] if self._found else None
        at_top = self._at == 0 and self._typed.text
        self._narrow()
        if selected in self._found and not at_top:
            self._at = self._found.index(selected)
        app.invalidate()

    def make_application(self, keyboard: Input, output: Output) -> Application[int | None]:
        prompt = Window(
            BufferControl(self._typed),
            height=Dimension.exact(1),
            get_line_prefix=lambda *_: [("class:prompt", "/ ")],
        )
        parts = [
            make_part(lambda: "", lambda: self._terminal().rows > 16),  # a blank line sets the list off
            make_part(
                lambda: [("class:title", truncate_text(self._title, self._terminal().columns - 1))],
                lambda: True,
            ),
            make_part(self._format_rows, lambda: True),
            make_part(self._format_preview, lambda: bool(self._get_preview())),
            prompt,
            make_part(self._format_help, lambda: True),
        ]
        return ReflowingApplication(
            layout=Layout(HSplit(parts), focused_element=prompt),
            key_bindings=self._make_key_bindings(),
            style=make_style(),
            input=keyboard,
            output=output,
            erase_when_done=True,
        )

    def _make_key_bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("up")
        @keys.add("c-p")
        def move_up(event: KeyPressEvent) -> None:
            self._move(-1)

        @keys.add("down")
        @keys.add("c-n")
        @keys.add("tab")
        def move_down(event: KeyPressEvent) -> None:
            self._move(1)

        @keys.add("pageup")
        def page_up(event: KeyPressEvent) -> None:
            self._move(-self._count_rows())

        @keys.add("pagedown")
        def page_down(event: KeyPressEvent) -> None:
            self._move(self._count_rows())

        @keys.add("enter")
        def take(event: KeyPressEvent) -> None:
            event.app.exit(result=self._found[self._at] if self._found else None)

        @keys.add("escape", eager=True)
        @keys.add("c-c")
        @keys.add("c-d")
        def leave(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        return keys

    def _move(self, rows: int) -> None:
        if self._found:
            last = len(self._found) - 1
            wrapped = (self._at + rows) % len(self._found) if abs(rows) == 1 else self._at + rows
            self._at = min(max(wrapped, 0), last)

    def _narrow(self) -> None:
        query = self._typed.text.strip()
        self._found = rank_matches(query, [each.label for each in self._choices]) if query else []
        named = set(self._found)
        self._found += [
            number
            for number, each in enumerate(self._choices)
            if number not in named
            and all(word in f"{each.label} {each.about}".lower() for word in query.lower().split())
        ]
        self._at = 0

    def _count_rows(self) -> int:
        return max(min(ROWS, self._terminal().rows - 7 - (PREVIEW if self._terminal().rows > 16 else 0)), 2)

    def _format_rows(self) -> StyleAndTextTuples:
        if not self._found:
            return [("class:dim", "  nothing matches")]
        room = self._count_rows()
        first = min(max(self._at - room // 2, 0), max(len(self._found) - room, 0))
        aligned = self._align([self._choices[each] for each in self._found[first : first + room]])
        lines: StyleAndTextTuples = []
        for place in range(first, min(first + room, len(self._found))):
            choice = self._choices[self._found[place]]
            sign = "› " if place == self._at else "* " if choice.current else "  "
            label, about = self._fit_row(choice, aligned)
            if lines:
                lines.append(("", "\n"))
            lines.append(("class:chosen" if place == self._at else "", sign + label))
            lines.append(("class:dim", about))
        return lines

    def _align(self, shown: Sequence[Choice]) -> int:
        """Return the columns of the labels of these rows."""
        columns = self._terminal().columns
        longest = max(measure_columns(each.about) for each in shown)
        room_for_labels = columns - 3 - min(longest + 2, columns * 2 // 5)
        return min(max(measure_columns(each.label) for each in shown), room_for_labels)

    def _fit_row(self, choice: Choice, aligned: int) -> tuple[str, str]:
        """Return the label and the description of a row, cut where the window is too narrow."""
        columns = self._terminal().columns
        label = truncate_text(choice.label, aligned if choice.about else columns - 3)
        gap = " " * max(aligned - measure_columns(label), 0)
        about = truncate_text(f"{gap}  {choice.about}", columns - 3 - measure_columns(label))
        return label, about if choice.about else ""

    def _get_cut_text(self) -> str:
        """Return the whole text of the selected row, wrapped, if the row shows it cut; else ""."""
        choice = self._choices[self._found[self._at]]
        label, about = self._fit_row(choice, self._align([choice]))
        if label == choice.label and about.strip() == choice.about.strip():
            return ""
        return wrap_words(f"{choice.label}  {choice.about}".rstrip(), self._terminal().columns - 3)

    def _get_preview(self) -> str:
        """Return what the selected row has no room for, and its preview; "" in a low window."""
        if not self._found or self._terminal().rows <= 16:
            return ""
        index = self._found[self._at]
        if index not in self._previews:
            make = self._choices[index].preview
            self._previews[index] = make() if make else ""
        return "\n".join(filter(None, (self._get_cut_text(), self._previews[index])))

    def _format_preview(self) -> StyleAndTextTuples:
        columns = self._terminal().columns
        lines = [
            truncate_text(f"│ {line}", columns - 1) for line in self._get_preview().split("\n")[:PREVIEW]
        ]
        return [("class:dim", "\n".join(lines))]

    def _format_help(self) -> StyleAndTextTuples:
        count = f"{len(self._found)} of {len(self._choices)}{' …' if self._waits else ''}"
        text = f"{count} · type to narrow · ↑↓ move · Enter takes · Esc leaves"
        return [("class:dim", truncate_text(text, self._terminal().columns - 1))]
