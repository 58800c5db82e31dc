"""Which printed lines surely take one row each, so that the live region can be moved below them."""

from __future__ import annotations

import pytest

from cli.tui.screen.row_shift import split_rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("one\ntwo\n", ["one", "two"]),
        ("", []),
        ("x" * 20 + "\n", ["x" * 20]),
        ("\x1b[48;5;237m❯ said\x1b[K\x1b[0m\n", ["\x1b[48;5;237m❯ said\x1b[K\x1b[0m"]),
        ("─" * 20 + "\n", ["─" * 20]),
        ("日本" * 5 + "\n", ["日本" * 5]),
        ("a\t" + "x" * 12 + "\n", ["a\t" + "x" * 12]),
        ("\x1b]8;;file:///a\x1b\\a.py\x1b]8;;\x1b\\\n", ["\x1b]8;;file:///a\x1b\\a.py\x1b]8;;\x1b\\"]),
    ],
)
def test_lines_that_fit_are_rows(text: str, rows: list[str]) -> None:
    assert split_rows(text, 20) == rows


@pytest.mark.parametrize(
    "text", ["no end", "x" * 21 + "\n", "日本" * 6 + "\n", "a\t" + "x" * 13 + "\n", "a\rb\n", "\x1b[2Ja\n"]
)
def test_a_line_of_uncertain_width_is_none(text: str) -> None:
    assert split_rows(text, 20) is None
