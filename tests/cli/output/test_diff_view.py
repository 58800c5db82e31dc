"""Diffs on a terminal: what changed stands out, down to the word."""

from __future__ import annotations

import re
from itertools import dropwhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.output.diff_view import paint_diff
from cli.output.style.paint import make_painter
from cli.output.style.terminal import measure_columns
from tools.core.text import format_unified_diff

SGR = re.compile(r"\x1b\[[0-9;]*m")


def test_the_words_that_differ_are_marked() -> None:
    diff = format_unified_diff("a.py", "x = 1\nreturn sum(items) - 1\n", "x = 1\nreturn sum(items)\n")
    lines = list(paint_diff(diff, make_painter(colour=True), limit=20))
    assert "\x1b[1;4;31m - 1\x1b[0m" in lines[2]
    assert lines[3] == "\x1b[32m+\x1b[0m\x1b[32mreturn sum(items)\x1b[0m"


def test_lines_that_have_little_in_common_are_not_marked() -> None:
    diff = format_unified_diff("a.py", "alpha beta gamma\n", "one(2, 3)\n")
    assert not any("1;4" in line for line in paint_diff(diff, make_painter(colour=True), limit=20))


@pytest.mark.slow
@given(
    st.lists(st.text("ab +-(.\t", max_size=8), max_size=6),
    st.lists(st.text("ab +-(.\t", max_size=8), max_size=6),
)
def test_marking_changes_no_text(old: list[str], new: list[str]) -> None:
    diff = format_unified_diff(
        "a", "".join(f"{each}\n" for each in old), "".join(f"{each}\n" for each in new)
    )
    plain = list(paint_diff(diff, make_painter(colour=False), limit=100))
    assert [SGR.sub("", line) for line in paint_diff(diff, make_painter(colour=True), limit=100)] == plain


@pytest.mark.slow
@given(st.text("ab é日 +-(.", max_size=60), st.integers(8, 30))
def test_what_is_too_wide_goes_on_under_its_own_text(text: str, width: int) -> None:
    diff = f"@@ -1 +1 @@\n-{text}\n+{text} and more of it"
    rows = list(paint_diff(diff, make_painter(colour=True), limit=9, width=width, indent="  "))
    rows = list(dropwhile(lambda row: "31m-" not in row, rows))
    shown = [SGR.sub("", row) for row in rows]
    assert max(map(measure_columns, shown)) <= width
    assert all(row.startswith(("  -", "  +", "    ")) for row in shown)
    begun = [place for place, row in enumerate(shown) if row.startswith(("  -", "  +"))]
    assert (
        "".join(row[3:] if place in begun else row[4:] for place, row in enumerate(shown))
        == f"{text}{text} and more of it"
    )
    assert all(row.count("\x1b[0m") >= row.count("\x1b[3") for row in rows), (
        "no colour runs on into the next row"
    )
