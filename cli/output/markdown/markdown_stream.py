"""Streamed Markdown: finished blocks are printed permanently, only the unfinished one is redrawn."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from io import StringIO
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from cli.output.markdown.block_splitter import BlockSplitter, Piece
from cli.output.markdown.code_painter import CodePainter
from cli.output.style.theme import get_sgr_parameters, has_colours
from sandbox.sanitize import sanitize_text

READABLE_WIDTH = 100
"""Maximum columns of prose: longer lines are hard to read, however wide the terminal is."""


class MarkdownStream:
    """Renderer of streamed Markdown as terminal lines. `feed` and `close` return lines that are final."""

    def __init__(self, *, width: int, colour: bool) -> None:
        self.width = width
        self._colour = colour
        self._blocks = BlockSplitter()
        self._drawn: tuple[Piece, int, str] | None = None  # unfinished piece last drawn, width, lines
        self._code = CodePainter("", colour=False)
        self._last = ""  # kind of the piece printed last

    def feed(self, text: str) -> str:
        """Add text; return the lines of the pieces that it finished."""
        return self._render_pieces(self._blocks.feed(text))

    def close(self) -> str:
        """End the answer; return the remaining lines."""
        printed = self._render_pieces(self._blocks.close())
        self._last = ""
        return printed

    def render_live(self, rows: int) -> str:
        """Return the last `rows` lines of the unfinished piece, for a redraw."""
        rest = self._blocks.rest
        if not rest.text.strip():
            return ""
        if self._drawn is None or self._drawn[:2] != (rest, self.width):
            self._drawn = (rest, self.width, self._render_piece(rest, live=True))
        lines = self._drawn[2].split("\n")[-rows:]
        return "\n".join(["", *lines] if self._needs_gap(rest) and len(lines) < rows else lines)

    def _render_pieces(self, pieces: Iterable[Piece]) -> str:
        """Render pieces, with a blank line before each block and each fence except the first of the answer."""
        printed = []
        for piece in pieces:
            if piece.first:
                self._code = CodePainter(piece.language, colour=self._colour)
            drawn = self._render_piece(piece)
            if drawn or piece.kind == "code":
                printed.append(f"\n{drawn}\n" if self._needs_gap(piece) else f"{drawn}\n")
                self._last = piece.kind
        return "".join(printed)

    def _needs_gap(self, piece: Piece) -> bool:
        return bool(self._last) and (piece.kind == "block" or piece.first)

    def _render_piece(self, piece: Piece, *, live: bool = False) -> str:
        if piece.kind == "block":
            what = _Markdown(sanitize_text(piece.text))
            return render_to_text(what, self.width, colour=self._colour)
        width = min(self.width, READABLE_WIDTH) - 2
        text = piece.text
        if live:
            painter = CodePainter(piece.language, colour=self._colour) if piece.first else self._code
            text = painter.preview_line(text, width)
        else:
            text = self._code.paint_line(text, width)
        return "\n".join(f"  {line}".rstrip() for line in text.split("\n"))


CODE_THEME = "ansi_dark"
"""Uses the terminal's own sixteen colours: readable on a light and on a dark background."""


def render_to_text(what: RenderableType, width: int, *, colour: bool) -> str:
    """Render a rich renderable as sanitized text with colours, without trailing spaces."""
    console = _make_console(
        min(width, READABLE_WIDTH), colour, get_sgr_parameters("cyan") if has_colours() else ""
    )
    file = StringIO()
    console.file = file
    console.print(_Inert(what))
    return file.getvalue().strip("\n")


@cache
def _make_console(width: int, colour: bool, code: str) -> Console:
    """code: SGR parameters of inline code, "" in a theme without colours"""
    return Console(
        file=StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not (colour and code),
        legacy_windows=False,
        theme=Theme({**_STYLES, "markdown.code": _convert_colour(code) if code else "bold"}),
    )


def _convert_colour(sgr: str) -> str:
    """Return one of the sixteen colours in rich's syntax: "36" is color(6), "96" the bright one, color(14)."""
    return f"color({int(sgr[-1]) + (8 if sgr.startswith('9') else 0)})"


_STYLES = {
    "markdown.h1": "bold underline",
    "markdown.h2": "bold",
    "markdown.h3": "bold",
    "markdown.h4": "bold",
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
        for line in console.render_lines(self._inner, options, pad=False):
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


class _CodeBlock(CodeBlock):
    """Code block indented by two columns, without a box, so that it can be copied; coloured like a fence outside."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        painter = CodePainter(self.lexer_name, colour=console.is_terminal)
        for line in str(self.text).rstrip().split("\n"):
            for row in painter.paint_line(line, options.max_width - 2).split("\n"):
                yield Segment("  ")
                yield from Text.from_ansi(row).render(console)
                yield Segment.line()


class _Markdown(Markdown):
    """rich's Markdown with one shared parser: creating one takes longer than parsing a paragraph."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
    }

    def __init__(self, markup: str) -> None:
        self.markup = markup
        self.parsed = _make_parser().parse(markup)
        self.code_theme = self.inline_code_theme = CODE_THEME
        self.justify, self.style, self.hyperlinks = None, "none", False
        self.inline_code_lexer = None


@cache
def _make_parser() -> MarkdownIt:
    return MarkdownIt().enable("strikethrough").enable("table")
