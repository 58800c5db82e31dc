"""Colours and marks as plain SGR sequences: sixteen colours that follow the terminal's own theme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from cli.output.style.theme import apply_style

Style = Literal["bold", "dim", "red", "green", "yellow", "blue", "cyan", "magenta", "added", "removed"]

Paint = Callable[[str, Style], str]
"""Function that applies a style to text, line by line, so that a cut between lines leaks no colour."""


def make_painter(*, colour: bool) -> Paint:
    """Return a function that applies styles, or one that returns text unchanged."""
    return _paint_sgr if colour else _leave_plain


def _paint_sgr(text: str, style: Style) -> str:
    return "\n".join(apply_style(line, style) for line in text.split("\n"))


def _leave_plain(text: str, style: Style) -> str:
    return text


MARKS = {
    "action": ("●", "*"),
    "good": ("✔", "+"),
    "bad": ("✗", "x"),
    "warn": ("!", "!"),
    "quiet": ("·", "-"),
    "said": ("›", ">"),
    "you": ("❯", ">"),
    "open": ("☐", "[ ]"),
    "doing": ("▸", "[>]"),
    "done": ("✔", "[x]"),
    "minus": ("−", "-"),
    "ellipsis": ("…", "..."),
    "between": (" · ", ", "),
}
"""Each mark, and its replacement in an encoding without that character."""


def get_mark(name: str, *, unicode: bool) -> str:
    """Return a mark of `MARKS`."""
    return MARKS[name][0 if unicode else 1]
