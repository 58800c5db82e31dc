"""Rows of a diff in colour: gutter with line numbers, sign, highlighted code, changed words marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from cli.output.diff.diff_colours import choose_diff_colours
from cli.output.diff.diff_layout import DiffLayout
from cli.output.diff.diff_parser import DiffLine
from cli.output.diff.word_changes import Places, find_word_changes
from cli.output.markdown.code_painter import CodePainter, find_language
from cli.output.style.terminal import measure_columns, split_columns, truncate_text
from cli.output.style.theme import apply_style, get_sgr_parameters
from sandbox.sanitize import sanitize_for_approval, sanitize_text

BOTH_NUMBERS = 80
"""Columns from which a row has the line's numbers on both sides; below it, only the one of its own side."""

LEAST_TEXT = 24
"""Columns of text below which the numbers are left out."""

Cell = tuple[str, str]
"""(SGR parameters, text)."""


class DiffPainter:
    """Formatter of the lines of one file. highest: the largest line number"""

    def __init__(self, path: str, layout: DiffLayout, highest: int) -> None:
        self._layout = layout
        self._indent = " " * layout.indent
        self._digits = max(len(str(highest)), 2)
        self._room = layout.width - layout.indent if layout.width else 0  # 0: no limit
        self._both = not layout.width or layout.width >= BOTH_NUMBERS
        if self._room and self._room - self._digits - 3 < LEAST_TEXT:
            self._digits, self._both = 0, False
        self._language = find_language(path)
        self._colours = choose_diff_colours()

    def format_gap(self, section: str) -> str:
        """Return the row between two hunks, with what git names there."""
        dots = "…" if self._layout.unicode else "..."
        words = f"{dots.rjust(self._digits)} {sanitize_text(section)}".rstrip()
        return self._indent + apply_style(truncate_text(words, self._room) if self._room else words, "dim")

    def format_unified(self, lines: Sequence[DiffLine]) -> Iterator[str]:
        """Yield the rows of a hunk, removed lines above those that replace them."""
        for line, cells in zip(lines, self._paint_lines(lines), strict=True):
            gutter = self._format_gutter(line)
            room = self._room - len(gutter) - 2 if self._room else 0
            for number, row in enumerate(_wrap_cells(cells, room)):
                head = gutter if not number else " " * len(gutter)
                yield self._indent + self._join_row(line.sign, head, row, self._room, first=not number)

    def format_side_by_side(self, lines: Sequence[DiffLine]) -> Iterator[str]:
        """Yield the rows of a hunk, the old side at the left, the new one at the right."""
        self._both = False
        half = (self._room - 3) // 2
        painted = list(zip(lines, self._paint_lines(lines), strict=True))
        bar = apply_style("│" if self._layout.unicode else "|", "dim")
        for left, right in _pair_sides(painted):
            old, new = self._format_half(left, half, old=True), self._format_half(right, half, old=False)
            for before, after in zip_longest(old, new, fillvalue=""):
                before = before or " " * half
                yield f"{self._indent}{before} {bar} {after}".rstrip(" ")

    def _format_half(self, side: Painted | None, half: int, *, old: bool) -> list[str]:
        if side is None:
            return []
        line, cells = side
        gutter = self._format_gutter(line, old=old)
        rows = []
        for number, row in enumerate(_wrap_cells(cells, half - len(gutter) - 2)):
            head = gutter if not number else " " * len(gutter)
            rows.append(self._join_row(line.sign, head, row, half, first=not number, pad=old))
        return rows

    def _format_gutter(self, line: DiffLine, *, old: bool = False) -> str:
        if not self._digits:
            return ""
        if self._both:
            return f"{line.old or '':>{self._digits}} {line.new or '':>{self._digits}} "
        return f"{(line.old if old else line.new or line.old) or '':>{self._digits}} "

    def _join_row(
        self, sign: str, gutter: str, cells: Sequence[Cell], width: int, *, first: bool, pad: bool = False
    ) -> str:
        """Join gutter, sign and text; `pad`: with spaces to the width, whatever the background."""
        shown = sign if first else " "
        ground = self._get_ground(sign)
        hue = {"+": "green", "-": "red"}.get(sign, "dim")
        parts = [
            (self._find_parameters(sign, hue if ground else "dim"), gutter),
            (self._find_parameters(sign, hue), f"{shown} "),
        ]
        taken = len(gutter) + 2 + sum(measure_columns(text) for _, text in cells)
        tail = " " * (width - taken) if width and (pad or (ground and self._layout.fill == "spaces")) else ""
        body = "".join(
            f"\x1b[{join_parameters('0', ground, sgr)}m{text}"
            for sgr, text in (*parts, *cells, ("", tail))
            if text
        )
        erase = f"\x1b[{ground}m\x1b[K" if ground and not tail and width and not pad else ""
        return f"{erase}{body}\x1b[0m"

    def _get_ground(self, sign: str) -> str:
        """Return the SGR parameters of the background of a line; "" for none."""
        if self._colours is None:
            return ""
        return {"+": self._colours.added, "-": self._colours.removed}.get(sign, "")

    def _paint_lines(self, lines: Sequence[DiffLine]) -> Iterator[list[Cell]]:
        """Yield the cells of each line; each side is highlighted in the order of its file."""
        old, new = (CodePainter(self._language, colour=True) for _ in range(2))
        texts = _make_visible(lines, exact=self._layout.exact)
        marks = _mark_words(lines, texts)
        for line, text, places in zip(lines, texts, marks, strict=True):
            if line.sign == "\\":
                yield [(get_sgr_parameters("dim"), text)]
                continue
            parts = (old if line.sign == "-" else new).tokenize_line(text)
            if line.sign == " ":
                old.tokenize_line(text)
            if self._layout.exact and "".join(part for _, part in parts) != text:
                parts = [("", text)]  # clipped, or changed by a lexer
            yield self._mark_cells(line.sign, parts, places)

    def _mark_cells(self, sign: str, parts: Sequence[tuple[str, str]], places: Places) -> list[Cell]:
        """Return the parts of a line with its changed words marked."""
        colours = self._colours
        if colours is not None:
            words = colours.added_words if sign == "+" else colours.removed_words
            parts = [(self._find_parameters(sign, style), text) for style, text in parts]
            return [
                (join_parameters(sgr, words) if marked else sgr, text)
                for sgr, text, marked in _split_at(parts, places)
            ]
        plain, marking = {"+": ("green", "added"), "-": ("red", "removed")}.get(sign, ("", ""))
        if plain:
            parts = [("", "".join(text for _, text in parts))]
        return [
            (get_sgr_parameters(style), text) if style else ("", text)
            for style, text in (
                (marking if marked else plain or style, text)
                for style, text, marked in _split_at(parts, places)
            )
        ]

    def _find_parameters(self, sign: str, style: str) -> str:
        if style == "code.comment" and self._get_ground(sign):
            return _ITALIC
        on_dark = self._colours is not None and self._colours.brings_text and sign in ("+", "-")
        return get_sgr_parameters(style, on_dark=on_dark) if style else ""


_ITALIC = "3"
"""Comments on a background: faint text is hard to read there."""

Painted = tuple[DiffLine, list[Cell]]


def join_parameters(*parameters: str) -> str:
    """Return SGR parameters that hold together, after the reset "0" if that is the first."""
    return ";".join(each for number, each in enumerate(parameters) if each and (each != "0" or not number))


def _make_visible(lines: Sequence[DiffLine], *, exact: bool) -> list[str]:
    """Return the texts as they are shown; carriage returns are marked where not every line has one."""
    if exact:
        return [sanitize_for_approval(line.text) for line in lines]
    texts = [line.text for line in lines if line.sign != "\\"]
    uniform = all(text.endswith("\r") for text in texts)
    shown = []
    for line in lines:
        text = line.text.removesuffix("\r")
        mark = "␍" if line.text.endswith("\r") and not uniform else ""
        shown.append(sanitize_text(text).replace("\n", " ").expandtabs(4) + mark)
    return shown


def _mark_words(lines: Sequence[DiffLine], texts: Sequence[str]) -> list[Places]:
    """Return the changed words of each line: of removed lines and of the lines that replace them, in order."""
    marks: list[Places] = [[] for _ in lines]
    for olds, news in _find_replacements(lines):
        for old, new in zip(olds, news, strict=False):
            marks[old], marks[new] = find_word_changes(texts[old], texts[new])
    return marks


def _find_replacements(lines: Sequence[DiffLine]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the places of removed lines with those of the added lines after them."""
    olds, news = list[int](), list[int]()
    for place, line in enumerate(lines):
        if line.sign == "\\":
            continue
        if line.sign == " " or (line.sign == "-" and news):
            yield olds, news
            olds, news = [], []
        if line.sign == "-":
            olds.append(place)
        elif line.sign == "+":
            news.append(place)
    yield olds, news


def _pair_sides(painted: Sequence[Painted]) -> Iterator[tuple[Painted | None, Painted | None]]:
    """Yield what stands beside each other: context twice, removed lines beside those that replace them."""
    olds, news = list[Painted](), list[Painted]()
    for each in painted:
        sign = each[0].sign
        if sign == " " or (sign == "-" and news):
            yield from zip_longest(olds, news)
            olds, news = [], []
        if sign == "-":
            olds.append(each)
        elif sign == "+":
            news.append(each)
        elif sign == " ":
            yield each, each
        else:  # git's note on the line before
            (news or olds).append(each)
    yield from zip_longest(olds, news)


def _split_at(parts: Sequence[tuple[str, str]], places: Places) -> Iterator[tuple[str, str, bool]]:
    """Yield (style, text, marked), split where a marked place begins or ends."""
    edges = sorted({edge for place in places for edge in place})
    start = 0
    for style, text in parts:
        cuts = [edge - start for edge in edges if start < edge < start + len(text)]
        for first, last in zip([0, *cuts], [*cuts, len(text)], strict=True):
            marked = any(a <= start + first < b for a, b in places)
            yield style, text[first:last], marked
        start += len(text)


def _wrap_cells(cells: Sequence[Cell], width: int) -> Iterator[list[Cell]]:
    """Yield the cells of each row of at most `width` columns (0: one row)."""
    plain = "".join(text for _, text in cells)
    if not width or measure_columns(plain) <= width:
        yield list(cells)
        return
    start = 0
    for row in split_columns(plain, width):
        kept, place, end = list[Cell](), 0, start + len(row)
        for sgr, text in cells:
            if part := text[max(start - place, 0) : max(end - place, 0)]:
                kept.append((sgr, part))
            place += len(text)
        yield kept
        start = end
