"""What holds for every format: detection, prose, endings, escapes, any text at all."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.edit.edit_model import FileChange, Replace, Update
from tools.edit.formats import Form, MalformedEdit, parse_edits
from tools.edit.formats.cleanup import strip_diff_marks, strip_fences, strip_line_numbers, undo_escapes
from tools.edit.formats.placeholders import is_elision, is_placeholder

B = "a.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"
P = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
D = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"
ALL: list[tuple[Form, str]] = [("blocks", B), ("patch", P), ("diff", D)]


@pytest.mark.parametrize(("form", "text"), ALL)
def test_the_format_is_found_by_its_markers(form: Form, text: str) -> None:
    assert parse_edits(text) == parse_edits(text, form)


@pytest.mark.parametrize(("form", "text"), ALL)
@pytest.mark.parametrize(
    "dressed",
    [
        lambda text: f"Here:\n\n{text}\nThat is *all* -- really.\n",
        lambda text: f"```\n{text}```\n",
        lambda text: f"~~~~\n{text}~~~~\n\nDone.",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.removesuffix("\n").replace("\n", "\\n"),
        lambda text: '"' + text.removesuffix("\n").replace("\n", "\\n") + '"',
        lambda text: "".join(f"\t{line}\n" for line in text.split("\n")),
    ],
    ids=["prose", "fence", "tildes", "crlf", "bom", "escaped", "escaped in quotes", "indented"],
)
def test_a_text_may_be_wrapped(form: Form, text: str, dressed: Callable[[str], str]) -> None:
    assert parse_edits(dressed(text))[0].path == "a.py"


def test_entities_are_undone_when_the_markers_have_them() -> None:
    text = B.replace("<", "&lt;").replace(">", "&gt;").replace("x\n", "if a &lt; b &amp;&amp; c:\n")
    (change,) = parse_edits(text)
    assert change == Update(
        path="a.py", edits=(Replace(old="if a < b && c:\n", new="y\n", whole_lines=True),)
    )


def test_entities_stay_when_the_markers_have_none() -> None:
    (change,) = parse_edits(B.replace("x\n", "a &lt; b\n"))
    assert change == Update(path="a.py", edits=(Replace(old="a &lt; b\n", new="y\n", whole_lines=True),))


def test_only_a_newline_ends_a_line() -> None:
    odd = "a\u2028b\x0bc\x0cd\x85e\rf\n"
    (change,) = parse_edits(B.replace("x\n", odd))
    assert change == Update(path="a.py", edits=(Replace(old=odd, new="y\n", whole_lines=True),))


@pytest.mark.parametrize(
    "text",
    [
        P.replace("+y", "+<<<<<<< SEARCH\n+=======\n+>>>>>>> REPLACE"),
        P.replace("+y", "+diff --git a/x b/x\n+--- a/x\n++++ b/x\n+@@ -1 +1 @@"),
        D.replace("@@ -1 +1 @@", "@@ -1 +1,3 @@").replace("+y", "+y\n+*** Begin Patch\n+*** Delete File: z"),
        B.replace("\ny\n", "\n" + D),
        B.replace("\ny\n", "\n" + P),
    ],
)
def test_edits_within_the_lines_of_an_edit_are_text(text: str) -> None:
    assert [change.path for change in parse_edits(text)] == ["a.py"]


def read(text: str, form: Form = "auto") -> list[FileChange] | None:
    """The changes, or None when they are refused, which takes few words."""
    try:
        return parse_edits(text, form)
    except MalformedEdit as refusal:
        if not 0 < len(str(refusal)) < 2_000:
            raise
        return None


PIECES = (
    [line for text in (B, P, D) for line in text.split("\n")]
    + [
        "*** Add File: n",
        "*** Delete File: n",
        "*** Move to: m",
        "*** End of File",
        "```",
        "~~~",
        "EOF",
        "<<'EOF'",
    ]
    + [
        "diff --git a/a b/b",
        "rename from a",
        "rename to b",
        "new file mode 100644",
        "@@ def f():",
        "@@ -1,9 +2 @@",
    ]
    + [
        "\\ No newline at end of file",
        "-- ",
        "2.43.0",
        ":start_line:3",
        "-------",
        "<<<<<<< HEAD",
        ">>>>>>> main",
    ]
    + [
        "+",
        "-",
        " ",
        "",
        "  indented",
        "\t",
        "prose.",
        "`b.py`:",
        "\\=======",
        "<![CDATA[",
        "@@@ -1 -1 +1 @@@",
        '"a\\',
    ]
)


@pytest.mark.slow
@given(
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=14),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_text_is_read_or_refused(pieces: list[str], end: str) -> None:
    text = end.join(pieces)
    for form in ("auto", "blocks", "patch", "diff"):
        changes = read(text, form)
        assert changes is None or (changes and all(change.path for change in changes))


@pytest.mark.slow
@given(st.text(alphabet='ab 1\n\t`~<>|:\\n"-+→#./*[](){}…', max_size=40))
def test_the_cleaners_take_any_text(text: str) -> None:
    for clean in (strip_line_numbers, strip_fences, undo_escapes, strip_diff_marks):
        result = clean(text)
        assert result is None or isinstance(result, str)
    for line in text.split("\n"):
        assert not (is_placeholder(line) and any(character.isdigit() for character in line))
        assert is_elision(line) in (True, False)


def lines_run(text: str) -> int:
    """How many lines of our own code one reading runs: a measure of work that no clock disturbs."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal count
        if "formats" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        read(text)
    finally:
        sys.settrace(before)
    return count


SEED = int(os.environ.get("PATCHWRIGHT_SEED", "7"))
REPEATED = {
    "blocks": B,
    "blocks with another end": B.replace(">>>>>>>", ">>>>>"),
    "blocks with heads": B.replace("SEARCH", "HEAD").replace(">>>>>>>", ">>>>>"),
    "blocks of many sizes": B + B.replace("<<<<<<<", "<<<<<<").replace(">>>>>>>", ">>>>>"),
    "patches": P,
    "patches without an end": "```\n" + P.replace("*** End Patch\n", "") + "```\n",
    "sections without a frame": P.replace("*** Begin Patch\n", "").replace("*** End Patch\n", "") + "\n",
    "fenced sections": "```\n" + P.replace("*** Begin Patch\n", "").replace("*** End Patch\n", "```\n"),
    "diffs": D,
    "diffs with wrong counts": D.replace("-1 +1", "-1,999999 +1,999999"),
    "diffs without counts": D.replace("-1 +1", "..."),
    "fenced hunks": D + "```diff\n@@ ... @@\n-x\n```\n",
    "prose": "some prose that goes on\n",
    "pieces": "\n".join(random.Random(SEED).choices(PIECES, k=60)) + "\n",
}


@pytest.mark.parametrize("unit", REPEATED.values(), ids=REPEATED.keys())
def test_work_grows_with_the_text_and_no_faster(unit: str) -> None:
    small, large = lines_run(unit * 40), lines_run(unit * 160)
    assert large <= small * 4.6 + 2000


@pytest.mark.parametrize(
    "line",
    [
        "<<<<<<< SEARCH" + " " * 200_000 + "x",
        "--- a" + " " * 200_000 + "x\n+++ b" + " " * 200_000 + "x",
        "@@" + " " * 200_000 + "x",
        "~" * 200_000 + "`",
        "<a>" + " " * 590 + "<",
        "diff --git " + "a/x " * 50_000,
        '--- "' + "\\" * 200_001 + "\n+++ b",
        "*** Update File: " + " " * 200_000 + "x",
        "# " + "rest of the " * 40_000,
        "12: " * 50_000,
        "</a>" * 50_000 + "<<<<<<< SEARCH",
    ],
)
def test_long_lines_do_not_make_a_pattern_search_over_and_over(line: str) -> None:
    for text in (line, f"a.py\n{line}\n{B}", f"{P}{line}", f"{D}{line}"):
        read(text)
    is_placeholder(line)
    for clean in (strip_line_numbers, strip_fences, undo_escapes, strip_diff_marks):
        clean(line)
