"""Tables of the commands on a terminal, drawn by rich; a pipe gets plain lines, and does not wait for its import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from cli.output.style.terminal import Terminal
from sandbox.lazy_dataclass import dataclass

LEAST_WIDTH = 80
"""Columns below which a terminal gets plain lines as well: it wraps them, where a table would have to cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    wraps: its cells are wrapped if the table is too wide; right: they end below each other
    style: returns a style of rich for the text of a cell
    """

    title: str
    wraps: bool = False
    right: bool = False
    style: Callable[[str], str] = lambda text: ""


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], lines: Iterable[str]) -> None:
    """Print rows on a terminal, and otherwise the lines that say the same. All texts are safe to show."""
    terminal = Terminal.from_stream(sys.stdout)
    if terminal.colour and rows and terminal.columns >= LEAST_WIDTH:
        lines = draw_table(columns, rows, terminal.columns, unicode=terminal.unicode)
    for line in lines:
        print(line)


def draw_table(
    columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int, *, unicode: bool
) -> list[str]:
    """Return the lines of a table, at most `width` columns wide."""
    from io import StringIO

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from cli.output.style.theme import has_colours

    table = Table(
        box=box.SIMPLE_HEAD if unicode else box.ASCII,
        border_style="dim",
        header_style="bold",
        pad_edge=False,
        show_edge=False,
    )
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=not column.wraps,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(text, column.style(text)) for column, text in zip(columns, row, strict=True)))
    file = StringIO()
    console = Console(
        file=file,
        width=width,
        force_terminal=True,
        color_system="standard",
        no_color=not has_colours(),
        legacy_windows=False,
    )
    console.print(table)
    return [line.rstrip() for line in file.getvalue().split("\n") if line.strip()]
