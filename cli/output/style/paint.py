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


_MARKS = {
    "action": ("●", "*", "step:"),
    "good": ("✔", "+", "done:"),
    "bad": ("✗", "x", "failed:"),
    "warn": ("!", "!", "warning:"),
    "quiet": ("·", "-", "note:"),
    "said": ("›", ">", "told:"),
    "you": ("❯", ">", ">"),
    "open": ("☐", "[ ]", "to do:"),
    "doing": ("▸", "[>]", "at work:"),
    "done": ("✔", "[x]", "done:"),
    "marked": ("☑", "[x]", "chosen:"),
    "minus": ("−", "-", "-"),
    "ellipsis": ("…", "...", "..."),
    "between": (" · ", ", ", ", "),
}
"""Each mark, its replacement in an encoding without that character, and the word that a screen reader speaks well."""


class _Words:
    """Whether words take the place of marks in the whole process."""

    used = False


def use_words() -> None:
    """Use words in place of marks from now on: nothing is drawn, all is read out."""
    _Words.used = True


def get_mark(name: str, *, unicode: bool) -> str:
    """Return a mark, or what takes its place."""
    return _MARKS[name][2 if _Words.used else 0 if unicode else 1]


def spell_typography(text: str) -> str:
    """Return a text of the program itself with words and ASCII in place of its typography, where words are used."""
    if not _Words.used or text.isascii():
        return text
    return text.replace(" ·", ",").translate(_ASCII)  # at the end of a line, no blank follows


_ASCII = {ord(sign): written for sign, written in (
    ("…", "..."), ("→", "->"), ("−", "-"), ("–", "-"), ("×", "x"), ("↑", "Up"), ("↓", "Down"), ("█", "#"), ("─", "-"),
    ("│", "|"), ("·", "-"),
)}  # fmt: skip
