"""Streamed Markdown: finished blocks are printed permanently, only the unfinished one is redrawn."""

from __future__ import annotations

from collections.abc import Iterable

from cli.output.diff.diff_colours import choose_diff_colours
from cli.output.markdown.block_splitter import BlockSplitter, Piece
from cli.output.markdown.code_block import draw_code_title
from cli.output.markdown.code_painter import OF_NO_LANGUAGE, CodePainter, expand_tabs
from cli.output.markdown.paragraph import READABLE_WIDTH, render_paragraph
from cli.output.style.terminal import split_columns
from cli.output.style.theme import apply_style
from sandbox.sanitize import sanitize_text

DIFF_LANGUAGES = frozenset({"diff", "patch", "udiff"})
"""Of fences that hold one."""

_DIFF_HEADERS = ("+++ ", "--- ", "diff ", "index ")


class MarkdownStream:
    """Renderer of streamed Markdown as terminal lines. `feed` and `close` return lines that are final.

    breaks_code: break long lines of code, and draw their tabs as blanks; otherwise the terminal does both, and copies
        the lines as they were written
    """

    def __init__(self, *, width: int, colour: bool, breaks_code: bool = True) -> None:
        self.width = width
        self._breaks_code = breaks_code
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
                self._code = self._make_painter(piece)
            drawn = self._render_piece(piece)
            if drawn or piece.kind == "code":
                printed.append(f"\n{drawn}\n" if self._needs_gap(piece) else f"{drawn}\n")
                self._last = piece.kind
        return "".join(printed)

    def _needs_gap(self, piece: Piece) -> bool:
        return bool(self._last) and (piece.kind == "block" or piece.first)

    def _render_piece(self, piece: Piece, *, live: bool = False) -> str:
        if piece.kind == "block":
            return self._render_block(piece.text)
        width = self.width if live or self._breaks_code else 0
        if self._colour and piece.language in DIFF_LANGUAGES:
            row = paint_diff_line(piece.text, width)
        elif live:
            row = (self._make_painter(piece) if piece.first else self._code).preview_line(piece.text, width)
        else:
            row = self._code.paint_line(piece.text, width)
        title = draw_code_title(piece.language, self.width, colour=self._colour) if piece.first else ""
        return f"{title}\n{row}" if title else row

    def _make_painter(self, piece: Piece) -> CodePainter:
        return CodePainter(piece.language, colour=self._colour, unknown=OF_NO_LANGUAGE)

    def _render_block(self, text: str) -> str:
        safe = sanitize_text(text)
        drawn = render_paragraph(safe, min(self.width, READABLE_WIDTH), colour=self._colour)
        if drawn is not None:
            return drawn
        from cli.output.markdown.rich_markdown import render_markdown

        return render_markdown(safe, self.width, colour=self._colour)


def paint_diff_line(text: str, width: int) -> str:
    """Return a line of a diff, safe and coloured, in rows of at most `width` columns if that is given."""
    line = sanitize_text(text)
    rows = split_columns(expand_tabs(line), width) if width else [line]
    sign = "" if text.startswith(_DIFF_HEADERS) else text[:1]
    colours = choose_diff_colours() if sign in ("+", "-") and sign else None
    if colours is not None:
        ground = colours.added if sign == "+" else colours.removed
        return "\n".join(f"\x1b[{ground}m\x1b[K{row}\x1b[0m" for row in rows)
    style = {"+": "green", "-": "red", "@": "cyan"}.get(
        sign, "bold" if text.startswith(_DIFF_HEADERS) else ""
    )
    return "\n".join(apply_style(row, style) for row in rows)
