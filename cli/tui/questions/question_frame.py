"""The frame around every question: its title in the upper edge, the command or change, the reason, the answers."""

from __future__ import annotations

from collections.abc import Collection

from cli.output.style.paint import get_mark, make_painter
from cli.output.style.terminal import (
    Terminal,
    measure_columns,
    split_columns,
    truncate_text,
    wrap_characters,
    wrap_words,
)
from cli.tui.frontend import Option, Question
from cli.tui.questions.shown_change import Row, ShownChange, draw_change, format_whole_change
from sandbox.lazy_dataclass import dataclass

WIDEST = 120
"""Columns of a frame in a wide window: longer rows are hard to read."""

LOW = 16
"""Rows of a window below which the answers stand in as few rows as they need."""

LEAST = 3
"""Rows of the question itself that are always shown."""

_CORNERS = {True: "╭╮╰╯─│", False: "++++-|"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A question as it is drawn in a window that leaves it `rows` rows.

    current: number of the marked option, -1 for none; purpose: of the text that is typed instead, "" for none
    is_held: keys are not for the question yet; marked: names of the answers that were marked
    """

    question: Question
    terminal: Terminal
    rows: int
    current: int = 0
    purpose: str = ""
    is_held: bool = False
    marked: Collection[str] = ()

    @property
    def columns(self) -> int:
        """Columns of the frame."""
        return min(self.terminal.columns - 1, WIDEST)

    @property
    def fits(self) -> bool:
        """Whether all of the question is seen."""
        change = self._draw_change()
        return not change.more and len(self._wrap_what()) + len(change.rows) <= self._count_text_rows()

    @property
    def has_whole_command(self) -> bool:
        """Whether all of the command is seen."""
        return self.fits or len(self._wrap_what()) < self._count_text_rows()

    def format_rows(self) -> list[Row]:
        """Return the rows of the frame, each as (style class, text)."""
        change, room = self._draw_change(), self._count_text_rows()
        text = [*self._wrap_what(), *change.rows]
        if len(text) > room or change.more:
            where = "above, and v prints all again" if self._is_printed else "v prints all"
            left = max(len(text) - room + 1, 0) + change.more
            dots = get_mark("ellipsis", unicode=self.terminal.unicode)
            rest = truncate_text(f"{dots} +{left} lines: {where}", self.columns - 4, ellipsis=dots)
            text = [*text[: room - 1], [("class:dim", rest)]]
        gap: list[Row] = [[]] if self._has_gaps else []
        inner = [*text, *self._wrap_why(), *gap, *self._format_answers()]
        top, bottom = _draw_edges(self.question.title, self.columns, unicode=self.terminal.unicode)
        side = _CORNERS[self.terminal.unicode][5]
        return [top, *(_enclose(row, self.columns, side) for row in inner), bottom]

    @property
    def _has_gaps(self) -> bool:
        return self.rows >= LOW and bool(self.question.what or self.question.change or self.question.why)

    def _count_text_rows(self) -> int:
        others = len(self._wrap_why()) + len(self._format_answers()) + 2 + self._has_gaps
        return max(self.rows - others, LEAST)

    @property
    def _is_printed(self) -> bool:
        return self.question.is_printed or not self.has_whole_command

    def _wrap_what(self) -> list[Row]:
        if not self.question.what:
            return []
        lines = self.question.what.split("\n")
        rows = [row for line in lines for row in split_columns(line, self.columns - 4)]
        return [[("class:asked", row)] for row in rows]

    def _draw_change(self) -> ShownChange:
        return draw_change(self.question.change, self.columns - 4, self.rows, self.terminal)

    def _wrap_why(self) -> list[Row]:
        if not self.question.why:
            return []
        rows = wrap_words(f"why: {self.question.why}", self.columns - 4).split("\n")
        return [[("class:dim", each)] for each in rows]

    def _format_answers(self) -> list[Row]:
        if self.purpose:
            return [[("", row)] for row in wrap_words(self.purpose, self.columns - 4).split("\n")]
        least = LEAST + len(self._wrap_why()) + len(self.question.options) + 2  # with the edges
        if self.rows < max(LOW - 4, least):
            return [*self._format_short_answers(), *([[("class:dim", HELD)]] if self.is_held else [])]
        rows = [self._format_option(number, each) for number, each in enumerate(self.question.options)]
        whole = [
            row
            for number, each in enumerate(self.question.options)
            for row in self._wrap_option(number, each)
        ]
        if len(whole) > len(rows) and self._has_room_for(len(whole)):
            rows = whole
        if self.rows == least and not self.is_held:
            return [*rows]
        hint = HELD if self.is_held else self._format_hint()
        return [*rows, [("class:dim", truncate_text(hint, self.columns - 4))]]

    def _has_room_for(self, answers: int) -> bool:
        """Return whether answers of so many rows leave the question its own rows."""
        text = max(len(self._wrap_what()) + len(self._draw_change().rows), LEAST)
        return text + len(self._wrap_why()) + self._has_gaps + answers + 3 <= self.rows  # edges and hint

    def _wrap_option(self, number: int, option: Option) -> list[Row]:
        """Return an answer with all of its text, on further rows what the first one has no room for."""
        row = self._format_option(number, option)
        start = self._format_box(number, option) or " "
        shown = "".join(text for _, text in row[2:])
        if shown == f"{start} {option.label}" + (f": {option.about}" if option.about else ""):
            return [row]
        *head, (style, _), _ = row
        indent = " " * (sum(measure_columns(text) for _, text in head) + len(start) + 1)
        room = self.columns - 4 - len(indent)
        labels, abouts = split_columns(option.label, room), wrap_words(option.about, room).split("\n")
        return [
            [*head, (style, f"{start} {labels[0]}")],
            *([("", indent), (style, each)] for each in labels[1:]),
            *([("", indent), ("class:dim", each)] for each in abouts if each),
        ]

    def _format_option(self, number: int, option: Option) -> Row:
        marked = number == self.current and not self.is_held
        sign = f"{get_mark('you', unicode=self.terminal.unicode)} " if marked else "  "
        box = self._format_box(number, option)
        room = self.columns - 4 - measure_columns(f"{sign}{option.key}  {box}")
        label = truncate_text(option.label, room)
        about = f": {option.about}" if option.about else ""
        style = "class:dim" if self.is_held else "class:current" if marked else ""
        return [
            ("class:key", sign),
            ("class:dim" if self.is_held else "class:key", option.key),
            (style, f"{box or ' '} {label}"),
            ("class:dim", about if measure_columns(label + about) <= room else ""),
        ]

    def _format_box(self, number: int, option: Option) -> str:
        """Return the box of an answer that can be one of several; blanks below such boxes, "" without any."""
        if not self.question.several:
            return ""
        box = get_mark("marked" if option.name in self.marked else "open", unicode=self.terminal.unicode)
        return f" {box}" if number < self.question.several else " " * (1 + len(box))

    def _format_hint(self) -> str:
        other = next(each.label for each in self.question.options if each.name == self.question.otherwise)
        arrows, between = ("↑↓", " · ") if self.terminal.unicode else ("arrows", ", ")
        ways = "Space marks, Enter takes" if self.question.several else "Enter, or its letter"
        return f"{arrows} {ways}{between}Esc: {other[0].lower()}{other[1:]}"

    def _format_short_answers(self) -> list[Row]:
        """Format the answers side by side, for a window of few rows."""
        rows: list[list[tuple[str, str]]] = [[]]
        taken = 0
        for number, each in enumerate(self.question.options):
            key = f"{each.key}{self._format_box(number, each)}".rstrip()
            label = truncate_text(each.label, self.columns - 5 - measure_columns(key))
            width = measure_columns(key) + 1 + measure_columns(label)
            if rows[-1] and taken + 3 + width > self.columns - 4:
                rows.append([])
            taken = width if not rows[-1] else taken + 3 + width
            rows[-1] += [("", "   ")] if rows[-1] else []
            style = "class:current" if number == self.current and not self.is_held else ""
            rows[-1] += [("class:key", key), (style, f" {label}")]
        return list(rows)


HELD = "keys answer when you pause typing"
"""Shown instead of the keys while typed text is not meant for the question."""


def print_frame(title: str, text: str, hint: str, terminal: Terminal) -> str:
    """Return a text with its title and a hint, as lines to be printed; the text is safe to show.

    It has no edges across the window: a terminal that becomes narrower would break them.
    """
    room = min(terminal.columns, WIDEST) - 4
    corner, _, low_corner, _, line, side = tuple(_CORNERS[terminal.unicode])
    paint = make_painter(colour=terminal.colour)
    asked = [f"{paint(side, 'yellow')} {row}" for row in wrap_words(text, room).split("\n")]
    first, *rest = wrap_words(hint, room - 1).split("\n")
    rows = [
        f"{paint(corner + line, 'yellow')} {paint(title, 'bold')}",
        *asked,
        f"{paint(low_corner + line, 'yellow')} {paint(first, 'dim')}",
        *(f"   {paint(row, 'dim')}" for row in rest),
    ]
    return "".join(f"{row}\n" for row in rows)


def format_whole_question(question: Question, terminal: Terminal) -> str:
    """Return all of what a question is about, as lines to be printed above its frame."""
    parts = [question.title, *filter(None, (question.what,))]
    rows = [row for part in parts for row in wrap_characters(part, terminal.columns - 1)]
    return "\n".join(rows) + "\n" + format_whole_change(question.change, terminal)


def _draw_edges(title: str, columns: int, *, unicode: bool) -> tuple[Row, Row]:
    left, right, low_left, low_right, line, _ = tuple(_CORNERS[unicode])
    title = truncate_text(title, columns - 6)
    rest = line * max(columns - 5 - measure_columns(title), 0)
    top = [("class:frame", f"{left}{line} "), ("class:question", title), ("class:frame", f" {rest}{right}")]
    return top, [("class:frame", f"{low_left}{line * (columns - 2)}{low_right}")]


def _enclose(row: Row, columns: int, side: str) -> Row:
    taken = sum(measure_columns(text) for _, text in row)
    return [
        ("class:frame", f"{side} "),
        *row,
        ("class:frame", f"{' ' * max(columns - 4 - taken, 0)} {side}"),
    ]
