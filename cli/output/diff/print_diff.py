"""Diffs that a command prints: drawn on a terminal, unchanged in a pipe."""

from __future__ import annotations

import sys

from cli.output.style.terminal import Terminal
from sandbox.sanitize import sanitize_text

DIFF_LINES = 2_000
"""Maximum lines of one diff on a terminal."""


def print_diff(diff: str) -> None:
    """Print a unified diff."""
    terminal = Terminal.from_stream(sys.stdout)
    if not terminal.colour:
        print(sanitize_text(diff.removesuffix("\n")))
        return
    from cli.output.diff.diff_layout import DiffLayout
    from cli.output.diff.diff_view import format_diff

    layout = DiffLayout(colour=True, width=terminal.columns, unicode=terminal.unicode, rest="a pipe gets all")
    for row in format_diff(diff, layout, limit=DIFF_LINES):
        print(row)
