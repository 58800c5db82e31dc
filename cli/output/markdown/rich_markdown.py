"""Markdown blocks drawn by rich: lists as they are written, tables of the whole width, code without a frame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from io import StringIO
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.markdown import (
    BlockQuote,
    CodeBlock,
    Heading,
    HorizontalRule,
    ListElement,
    ListItem,
    Markdown,
    MarkdownContext,
    MarkdownElement,
    Paragraph,
    TableElement,
)
from rich.rule import Rule
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from cli.output.markdown.code_block import draw_code_title
from cli.output.markdown.code_painter import OF_NO_LANGUAGE, CodePainter
from cli.output.markdown.paragraph import READABLE_WIDTH
from cli.output.style.theme import get_sgr_parameters, has_colours
from sandbox.sanitize import sanitize_text

BULLETS = "•◦▪"
"""By depth of the list."""


def render_markdown(text: str, width: int, *, colour: bool) -> str:
    """Render sanitized Markdown as text with colours, without trailing spaces."""
    console = _make_console(width, colour, get_sgr_parameters("cyan") if has_colours() else "")
    file = StringIO()
    console.file = file
    console.print(_Inert(_Markdown(text)))
    return file.getvalue().strip("\n")


@cache
def _make_console(width: int, colour: bool, code: str) -> Console:
    """code: SGR parameters of inline code, "" in a theme without colours"""
    hue = _convert_colour(code) if code else ""
    return Console(
        file=StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not (colour and code),
        legacy_windows=False,
        theme=Theme(
            {
                **_STYLES,
                "markdown.h1": f"bold underline {hue}",
                "markdown.h2": f"bold {hue}",
                "markdown.code": hue or "bold",
            }
        ),
    )


def _convert_colour(sgr: str) -> str:
    """Return one of the sixteen colours in rich's syntax: "36" is color(6), "96" the bright one, color(14)."""
    return f"color({int(sgr[-1]) + (8 if sgr.startswith('9') else 0)})"


_STYLES = {
    "markdown.h3": "bold",
    "markdown.h4": "underline",
    "markdown.h5": "italic",
    "markdown.h6": "dim italic",
    "markdown.hr": "dim",
    "markdown.block_quote": "none",
    "markdown.code_block": "none",
    "markdown.item.number": "none",
    "markdown.item.bullet": "none",
    "markdown.link_url": "underline",
    "markdown.table.header": "bold",
    "markdown.table.border": "dim",
}


class _Inert:
    """Sanitizes every segment *after* parsing too: `&#8238;` only becomes a control character in the parser."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        narrowed = options.update(width=min(options.max_width, READABLE_WIDTH))
        for line in Segment.split_lines(console.render(self._inner, narrowed)):  # uncropped: tables are wider
            for segment in _strip_trailing_space(line):
                yield Segment(sanitize_text(segment.text), segment.style)
            yield Segment.line()


def _strip_trailing_space(line: list[Segment]) -> list[Segment]:
    """Strip the padding at the end of a line, so that it can be copied."""
    kept = [segment for segment in line if not segment.control]
    while kept:
        stripped = kept[-1].text.rstrip(" ")
        if stripped:
            kept[-1] = Segment(stripped, kept[-1].style)
            break
        kept.pop()
    return kept


class _Heading(Heading):
    """Heading at the left margin: centred text is easily missed in a wide terminal."""

    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _Rule(HorizontalRule):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style="markdown.hr")


class _BlockQuote(BlockQuote):
    """Quote with a dim bar; its text stays as readable as any other."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        inner = options.update(width=max(options.max_width - 2, 1))
        for line in console.render_lines(self.elements, inner):
            yield Segment("▌ ", console.get_style("dim"))
            yield from line
            yield Segment.line()


class _CodeBlock(CodeBlock):
    """Code block without a box, so that it can be copied; drawn like a fence outside."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        colour = console.is_terminal
        language = "" if self.lexer_name == "text" else self.lexer_name
        painter = CodePainter(language, colour=colour, unknown=OF_NO_LANGUAGE)
        rows = [draw_code_title(language, options.max_width, colour=colour)]
        for line in str(self.text).rstrip().split("\n"):
            rows.append(painter.paint_line(line, options.max_width))
        for row in rows if rows[0] else rows[1:]:
            for each in row.split("\n"):
                yield from Text.from_ansi(each).render(console)
                yield Segment.line()


class _List(ListElement):
    """List with the numbers as they are written, and boxes for tasks. depth: 0 for a list that is in no other"""

    depth = 0

    def on_child_close(self, context: MarkdownContext, child: MarkdownElement) -> bool:
        assert isinstance(child, _Item)
        for each in child.parts:
            if isinstance(each, _List):
                each.increase_depth()
        self.items.append(child)
        return False

    def increase_depth(self) -> None:
        """Move the list and those in it one level down."""
        self.depth += 1
        for item in self.items:
            assert isinstance(item, _Item)
            for each in item.parts:
                if isinstance(each, _List):
                    each.increase_depth()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        marks = list(self._iterate_marks())
        width = max(map(len, marks), default=0)
        for mark, item in zip(marks, self.items, strict=True):
            assert isinstance(item, _Item)
            yield from item.render_lines(console, options, mark.rjust(width))

    def _iterate_marks(self) -> Iterator[str]:
        bullet, last = BULLETS[min(self.depth, len(BULLETS) - 1)], ""
        for index, item in enumerate(self.items):
            assert isinstance(item, _Item)
            box_ = item.take_task_box()
            if self.list_type == "bullet_list_open":
                yield f"{box_ or bullet} "
                continue
            number = item.number
            if index and number == last:  # 1. 1. 1. means 1. 2. 3.
                number = str((self.list_start or 0) + index)
            last = item.number
            yield f"{number}{item.delimiter} {f'{box_} ' if box_ else ''}"


class _Item(ListItem):
    """Item of a list. number, delimiter: as written; parts: its paragraphs, lists and code"""

    def __init__(self) -> None:
        super().__init__()
        self.number, self.delimiter = "", "."
        self.parts: list[MarkdownElement] = []

    def on_child_close(self, context: MarkdownContext, child: MarkdownElement) -> bool:
        self.parts.append(child)
        return super().on_child_close(context, child)

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _Item:
        item = cls()
        item.number, item.delimiter = token.info, token.markup
        return item

    def take_task_box(self) -> str:
        """Remove `[ ]` or `[x]` from the beginning of the text; return the box to draw for it, "" if there is none."""
        first = self.parts[0] if self.parts else None
        if not isinstance(first, Paragraph):
            return ""
        box_ = {"[ ] ": "☐", "[x] ": "☑", "[X] ": "☑"}.get(first.text.plain[:4], "")
        if box_:
            first.text = first.text[4:]
        return box_

    def render_lines(self, console: Console, options: ConsoleOptions, mark: str) -> RenderResult:
        """Render the item behind its mark."""
        inner = options.update(width=max(options.max_width - len(mark), 1))
        for number, line in enumerate(console.render_lines(self.elements, inner, style=self.style)):
            yield Segment(" " * len(mark) if number else mark)
            yield from line
            yield Segment.line()


class _Table(TableElement):
    """Table with thin lines, as wide as the terminal if it needs that; rows are ruled off if one of them is wrapped."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width == READABLE_WIDTH:
            options = options.update(width=console.width)
        table = self._build_table()
        if table.__rich_measure__(console, options.update(width=100_000)).maximum > options.max_width:
            table.show_lines = True
        yield from console.render(table, options)

    def _build_table(self) -> Table:
        table = Table(box=box.ROUNDED, border_style="markdown.table.border")
        if self.header is not None and self.header.row is not None:
            for cell in self.header.row.cells:
                heading = cell.content.copy()
                heading.stylize("markdown.table.header")
                table.add_column(heading, justify=cell.justify, overflow="fold")
        for row in self.body.rows if self.body is not None else ():
            table.add_row(*(cell.content for cell in row.cells))
        return table


class _Markdown(Markdown):
    """rich's Markdown with one shared parser: creating one takes longer than parsing a paragraph."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        "hr": _Rule,
        "blockquote_open": _BlockQuote,
        "bullet_list_open": _List,
        "ordered_list_open": _List,
        "list_item_open": _Item,
        "table_open": _Table,
    }

    def __init__(self, markup: str) -> None:
        self.markup = markup
        self.parsed = [_show_addresses_once(token) for token in _make_parser().parse(markup)]
        self.code_theme = self.inline_code_theme = (
            "ansi_dark"  # of rich's own code blocks, which are not used
        )
        self.justify, self.style, self.hyperlinks = None, "none", False
        self.inline_code_lexer = None


def _show_addresses_once(token: Token) -> Token:
    """Leave only the text of a link that is its own address: rich would write it twice."""
    if token.children:
        token.children = list(_skip_autolinks(token.children))
    return token


def _skip_autolinks(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.markup != "autolink":
            yield token


@cache
def _make_parser() -> MarkdownIt:
    return MarkdownIt().enable("strikethrough").enable("table")
