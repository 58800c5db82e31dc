"""A streamed answer as Markdown: finished blocks are printed for good, only the unfinished one is redrawn."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from typing import ClassVar

from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.segment import Segment
from rich.syntax import Syntax
from rich.theme import Theme

from cli.render.blocks import Blocks
from sandbox.inert import inert

READABLE_WIDTH = 100
"""Columns of prose at most: longer lines are hard to follow, however wide the terminal is."""


class MarkdownStream:
    """Text in, terminal lines out. `feed` and `close` return what can be printed and never changes again."""

    def __init__(self, *, width: int, colour: bool) -> None:
        self.width = width
        self._colour = colour
        self._blocks = Blocks()
        self._drawn = ("", 0, "")  # the unfinished text last drawn, its width, and its lines
        self._any = False

    def feed(self, text: str) -> str:
        """Take in a piece; return the lines of the blocks it finished."""
        return self._print(self._blocks.feed(text))

    def close(self) -> str:
        """The answer is over: the lines of all that was left."""
        printed = self._print(self._blocks.close())
        self._any = False
        return printed

    def live(self, rows: int) -> str:
        """The last `rows` lines of the unfinished block as it looks now, to be redrawn at will."""
        rest = self._blocks.rest
        if not rest.strip():
            return ""
        if self._drawn[:2] != (rest, self.width):
            self._drawn = (rest, self.width, self._render(rest))
        lines = self._drawn[2].split("\n")[-rows:]
        return "\n".join(["", *lines] if self._any and len(lines) < rows else lines)

    def _print(self, blocks: Iterable[str]) -> str:
        """Blocks, each with a blank line before it unless it is the first of the answer."""
        printed = []
        for block in blocks:
            if drawn := self._render(block):
                printed.append(f"\n{drawn}\n" if self._any else f"{drawn}\n")
                self._any = True
        return "".join(printed)

    def _render(self, block: str) -> str:
        return rendered(
            _Markdown(inert(block), code_theme=CODE_THEME, hyperlinks=False), self.width, colour=self._colour
        )


CODE_THEME = "ansi_dark"
"""Uses the sixteen colours of the terminal's own theme, so it reads on a light and on a dark background."""


def rendered(what: RenderableType, width: int, *, colour: bool) -> str:
    """Something rich can draw, as inert text with colours, without trailing spaces."""
    file = StringIO()
    console = Console(
        file=file,
        width=min(width, READABLE_WIDTH),
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        legacy_windows=False,
        theme=_THEME,
        emoji=False,
        highlight=False,
    )
    console.print(_Inert(what))
    return file.getvalue().strip("\n")


_THEME = Theme(
    {
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.item.number": "none",
        "markdown.item.bullet": "none",
        "markdown.link_url": "underline",
    }
)


class _Inert:
    """Makes every segment safe *after* parsing too: `&#8238;` only becomes a control in the parser."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self._inner, options, pad=False):
            for segment in _without_trailing_space(line):
                yield Segment(inert(segment.text), segment.style)
            yield Segment.line()


def _without_trailing_space(line: list[Segment]) -> list[Segment]:
    """A line as one wants to copy it: no padding up to the edge."""
    kept = [segment for segment in line if not segment.control]
    while kept:
        stripped = kept[-1].text.rstrip(" ")
        if stripped:
            kept[-1] = Segment(stripped, kept[-1].style)
            break
        kept.pop()
    return kept


class _Heading(Heading):
    """Headings at the left margin: centred text is lost in a wide terminal."""

    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _CodeBlock(CodeBlock):
    """Code as it is, two columns in, without a box: it can be copied."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        syntax = Syntax(
            str(self.text).rstrip(),
            self.lexer_name,
            theme=self.theme,
            word_wrap=True,
            background_color="default",
        )
        for line in console.render_lines(syntax, options.update_width(options.max_width - 2), pad=False):
            yield Segment("  ")
            yield from line
            yield Segment.line()


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
    }
