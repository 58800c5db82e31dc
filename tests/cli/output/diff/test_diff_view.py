"""Diffs on a terminal: what changed stands out, down to the word, and every line has its number."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.output.diff.diff_layout import DiffLayout
from cli.output.diff.diff_view import format_diff
from cli.output.markdown.markdown_stream import MarkdownStream
from cli.output.style.terminal import measure_columns
from cli.output.style.theme import choose_theme
from tools.core.text import format_unified_diff

SGR = re.compile(r"\x1b\[[0-9;]*[mK]")
GROUNDS = {"removed": "48;2;59;23;25", "added": "48;2;18;48;28"}

PLAIN = DiffLayout(colour=False)
COLOURED = DiffLayout(colour=True, width=100)


@pytest.fixture(params=["dark", "mono", "terminal"])
def theme(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("COLORFGBG", raising=False)
    choose_theme(request.param)
    yield request.param
    choose_theme("terminal")


def show(diff: str, layout: DiffLayout = COLOURED, limit: int = 99) -> list[str]:
    return [SGR.sub("", row).rstrip() for row in format_diff(diff, layout, limit=limit)]


ONE = format_unified_diff(
    "a.py", "x = 1\nreturn sum(items) - 1\ny = 2\n", "x = 1\nreturn sum(items)\ny = 2\nz = 3\n"
)


def test_lines_are_numbered_on_both_sides() -> None:
    assert show(ONE) == [
        " 1  1   x = 1",
        " 2    - return sum(items) - 1",
        "    2 + return sum(items)",
        " 3  3   y = 2",
        "    4 + z = 3",
    ]


def test_a_narrow_window_has_one_number_and_a_tiny_one_none() -> None:
    assert show(ONE, DiffLayout(colour=True, width=50))[:3] == [
        " 1   x = 1",
        " 2 - return sum(items) - 1",
        " 2 + return sum(items)",
    ]
    assert show(ONE, DiffLayout(colour=True, width=26))[1] == "- return sum(items) - 1"


def test_sides_stand_beside_each_other_in_a_wide_window() -> None:
    rows = show(ONE, DiffLayout(colour=True, width=140))
    assert [[side.strip() for side in row.split("│")] for row in rows] == [
        ["1   x = 1", "1   x = 1"],
        ["2 - return sum(items) - 1", "2 + return sum(items)"],
        ["3   y = 2", "3   y = 2"],
        ["", "4 + z = 3"],
    ]
    assert {row.index("│") for row in rows} == {69}


def test_changed_lines_and_words_have_backgrounds_and_keep_their_colours(theme: str) -> None:
    rows = list(format_diff(ONE, COLOURED, limit=9))
    if theme == "dark":
        assert rows[1].startswith(f"\x1b[{GROUNDS['removed']}m\x1b[K")
        assert f"\x1b[0;{GROUNDS['added']};95mreturn" in rows[2], "a keyword is still a keyword"
        assert "\x1b[0;48;2;59;23;25;48;2;132;40;45m - \x1b" in rows[1], "the words that changed"
    elif theme == "terminal":  # whose background is not known
        text = "38;5;254"
        assert rows[1].startswith(f"\x1b[{GROUNDS['removed']};{text}m\x1b[K")
        assert f"\x1b[0;{GROUNDS['added']};{text};95mreturn" in rows[2], "readable on it"
        assert f"\x1b[0;{GROUNDS['removed']};{text};48;2;132;40;45m - \x1b" in rows[1]
    else:
        assert all("48;" not in row for row in rows)
        assert re.search(r"1;4(;31)?m - 1", rows[1])
    assert all(row.endswith("\x1b[0m") for row in rows), "no colour runs on into the next row"


def test_without_colour_there_are_only_signs() -> None:
    assert list(format_diff(ONE, PLAIN, limit=9)) == [
        "@@ -1,3 +1,4 @@",
        " x = 1",
        "-return sum(items) - 1",
        "+return sum(items)",
        " y = 2",
        "+z = 3",
    ]


@pytest.mark.parametrize("layout", [PLAIN, COLOURED])
def test_what_is_beyond_the_limit_is_counted(layout: DiffLayout) -> None:
    diff = format_unified_diff("a.py", "", "".join(f"x{n}\n" for n in range(45)))
    assert show(diff, layout, 40)[-2:][1] == "… +5 lines (git diff shows all)"
    assert show(diff, layout, 44)[-1].startswith("… +1 line (")
    assert not show(diff, layout, 45)[-1].startswith("…")


GIT = """\
diff --git a/cart.py b/basket.py
similarity index 80%
rename from cart.py
rename to basket.py
old mode 100644
new mode 100755
--- a/cart.py
+++ b/basket.py
@@ -8,2 +8,2 @@ class Cart:
 x = 1
--- gone
+++ come
\\ No newline at end of file
@@ -40,2 +40,1 @@
 y = 1
-z = 1
diff --git a/logo.png b/logo.png
index 1..2
Binary files a/logo.png and b/logo.png differ
diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+one
"""


def test_renames_modes_binary_files_and_missing_newlines_are_told() -> None:
    assert show(GIT) == [
        "basket.py  renamed from cart.py, mode 100644 → 100755",
        " … class Cart:",
        " 8  8   x = 1",
        " 9    - -- gone",
        "    9 + ++ come",
        "      \\ no newline at end of file",
        " …",
        "40 40   y = 1",
        "41    - z = 1",
        "",
        "logo.png  binary",
        "",
        "new.py  new file",
        "    1 + one",
    ]


def test_a_hunk_shorter_than_its_header_says_does_not_swallow_the_next() -> None:
    rows = show("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\n@@ -20 +20 @@\n-c\n+d\n")
    assert [row.split()[-1] for row in rows if row.split()[-1] in "abcd"] == ["a", "b", "c", "d"]


def test_carriage_returns_are_marked_where_they_differ_and_tabs_are_even() -> None:
    changed = show("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\tone\n+\tone\r\n")
    assert changed == [" 1    -     one", "    1 +     one␍"]
    same = show("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\r\n+two\r\n")
    assert not any("␍" in row for row in same)


def test_a_diff_in_an_answer_has_backgrounds(theme: str) -> None:
    stream = MarkdownStream(width=40, colour=True)
    rows = stream.feed("```diff\n--- a/x\n@@ -1 +1 @@\n-old\n+new \x1b[7m\n same\n```\n").split("\n")
    assert [SGR.sub("", row) for row in rows] == [
        "diff", "--- a/x", "@@ -1 +1 @@", "-old", "+new \\x1b[7m", " same", "",
    ]  # fmt: skip
    if theme == "dark":
        assert f"\x1b[{GROUNDS['removed']}m\x1b[K-old\x1b[0m" in rows[3]
    assert ("48;" in rows[3]) == (theme != "mono")


TEXT = st.text("ab é日+-(.\t\x1b", max_size=60)


@given(st.lists(TEXT, max_size=5), st.lists(TEXT, max_size=5), st.sampled_from([30, 50, 90, 140]))
def test_no_row_is_wider_than_the_window_and_none_ends_in_a_colour(
    old: list[str], new: list[str], width: int
) -> None:
    diff = format_unified_diff("a", *("".join(f"{each}\n" for each in side) for side in (old, new)))
    rows = list(format_diff(diff, DiffLayout(colour=True, width=width, indent=2), limit=100))
    assert all(measure_columns(SGR.sub("", row)) <= width for row in rows)
    assert all("\x1b" not in SGR.sub("", row) for row in rows)
    assert all(row.endswith("\x1b[0m") or not SGR.search(row) for row in rows)


@given(st.text("ab é日 +-(.", max_size=90), st.integers(40, 79))
def test_what_is_too_wide_goes_on_under_its_own_text(text: str, width: int) -> None:
    rows = show(f"@@ -1 +1 @@\n-{text}\n+{text}x", DiffLayout(colour=True, width=width))
    assert all(row[:5] in (" 1 - ", " 1 + ", "     ", " 1 -", " 1 +", "") for row in rows)
    assert "".join("".join(row[5:].split()) for row in rows) == "".join(f"{text}{text}x".split())
