"""Colours and marks as plain SGR sequences: sixteen colours that follow the terminal's own theme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

Style = Literal["bold", "dim", "red", "green", "yellow", "blue", "cyan", "magenta"]

Paint = Callable[[str, Style], str]
"""Puts text into a style; each line on its own, so that a cut between lines leaks no colour."""

_CODES: dict[Style, int] = {
    "bold": 1,
    "dim": 2,
    "red": 31,
    "green": 32,
    "yellow": 33,
    "blue": 34,
    "magenta": 35,
    "cyan": 36,
}


def painter(*, colour: bool) -> Paint:
    """A function that paints, or one that leaves text as it is."""
    return _sgr if colour else _plain


def _sgr(text: str, style: Style) -> str:
    start = f"\x1b[{_CODES[style]}m"
    return "\n".join(f"{start}{line}\x1b[0m" if line else line for line in text.split("\n"))


def _plain(text: str, style: Style) -> str:
    return text


MARKS = {
    "action": ("●", "*"),
    "good": ("✔", "+"),
    "bad": ("✗", "x"),
    "warn": ("!", "!"),
    "quiet": ("·", "-"),
    "said": ("›", ">"),
    "open": ("☐", "[ ]"),
    "doing": ("▸", "[>]"),
    "done": ("✔", "[x]"),
    "minus": ("−", "-"),
    "ellipsis": ("…", "..."),
    "between": (" · ", ", "),
}
"""Each mark, and what stands for it where the terminal's encoding has no such character."""


def mark(name: str, *, unicode: bool) -> str:
    """One mark of the table."""
    return MARKS[name][0 if unicode else 1]
