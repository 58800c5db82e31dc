"""The `*** Begin Patch` format as models send it."""

from __future__ import annotations

import pytest

from tools.edit.edit_model import Create, Delete, Hunk, Line, Op, Update
from tools.edit.formats import MalformedEdit, parse_edits


def hunk(*lines: str, heads: tuple[str, ...] = (), at_end: bool = False) -> Hunk:
    ops: dict[str, Op] = {" ": " ", "-": "-", "+": "+"}
    return Hunk(
        lines=tuple(Line(ops[line[0]], line[1:]) for line in lines), heads=heads, at_end=at_end, appends=True
    )


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


SIMPLE = Update(path="a.py", edits=(hunk(" x", "-old", "+new"),))
BODY = ["*** Update File: a.py", "@@", " x", "-old", "+new"]


@pytest.mark.parametrize(
    "text",
    [
        patch(*BODY),
        patch(*BODY) + "\n",
        " *** Begin Patch\n" + "\n".join(BODY) + "\n*** End Patch \n",
        patch("  *** Update File: a.py  ", *BODY[1:]),
        "\n".join("    " + line for line in patch(*BODY).split("\n")),
        "Do this:\n\n   " + "\n   ".join(patch(*BODY).split("\n")) + "\n\nDone.",
        "apply_patch <<'EOF'\n" + patch(*BODY) + "\nEOF\n",
        "<<EOF\n" + patch(*BODY) + "\nEOF",
        "```\n" + patch(*BODY) + "\n```\nThat was it.",
        "Here is the patch.\n" + patch(*BODY) + "\nI hope that it helps.",
        patch(BODY[0], *BODY[2:]),
        patch(BODY[0], "", *BODY[1:], ""),
        patch(*BODY, "@@"),
        patch("*** Environment ID: local", *BODY),
        patch("*** Modify File: a.py", *BODY[1:]),
        patch("*** update file: `a.py`", *BODY[1:]),
        patch(BODY[0], "--- a/a.py", "+++ b/a.py", *BODY[1:]),
        patch(*BODY).replace("\n", "\r\n"),
        "\n".join([*BODY, "*** End Patch"]),
        "\n".join(["*** Begin Patch", *BODY, ""]),
        "```\n" + "\n".join(["*** Begin Patch", *BODY, "```"]),
        "cat <<'PATCH' | apply_patch\n*** Begin Patch\n" + "\n".join([*BODY, "PATCH"]),
        patch(*BODY).replace("\n", "\\n"),
        patch(BODY[0], "@@ ... @@", *BODY[2:]),
        patch(BODY[0], "@@ -12 @@", *BODY[2:]),
        patch(BODY[0], "@@ line 12", *BODY[2:]),
    ],
)
def test_a_patch_may_be_framed_loosely(text: str) -> None:
    assert parse_edits(text) == [SIMPLE]


def test_all_operations() -> None:
    text = patch(
        "*** Add File: new.py", "+one", "+", "+  two",
        "*** Delete File: gone.py",
        "*** Update File: from.py", "*** Move to: to/here.py", "@@ def f():", "-a", "+b",
        "*** Update File: only moved.py", "*** Move to: moved.py",
    )  # fmt: skip
    assert parse_edits(text) == [
        Create(path="new.py", content="one\n\n  two\n"),
        Delete(path="gone.py"),
        Update(path="from.py", edits=(hunk("-a", "+b", heads=("def f():",)),), to="to/here.py"),
        Update(path="only moved.py", edits=(), to="moved.py"),
    ]


def test_heads_may_be_nested() -> None:
    text = patch(
        "*** Update File: a.py",
        "@@ class Cart",
        "@@     def total(self):",
        "-a",
        "+b",
        "@@ class Order @@",
        "-c",
    )
    assert parse_edits(text) == [
        Update(
            path="a.py",
            edits=(
                hunk("-a", "+b", heads=("class Cart", "    def total(self):")),
                hunk("-c", heads=("class Order",)),
            ),
        )
    ]


def test_the_end_of_the_file_belongs_to_its_hunk() -> None:
    text = patch("*** Update File: a.py", "@@", "-a", "@@", " z", "+end", "*** End of File")
    assert parse_edits(text) == [Update(path="a.py", edits=(hunk("-a"), hunk(" z", "+end", at_end=True)))]


def test_sections_of_one_file_are_one_update() -> None:
    text = patch(
        "*** Update File: a.py", "@@", "-a", "*** Delete File: b.py", "*** Update File: a.py", "@@", "-c"
    )
    assert parse_edits(text) == [Update(path="a.py", edits=(hunk("-a"), hunk("-c"))), Delete(path="b.py")]


def test_sections_are_not_brought_together_over_a_removal() -> None:
    text = patch("*** Update File: a.py", "@@", "-a", "*** Delete File: a.py", "*** Add File: a.py", "+b")
    assert [type(change) for change in parse_edits(text)] == [Update, Delete, Create]


def test_several_patches_in_one_text() -> None:
    text = patch("*** Delete File: a.py") + "\nand then\n" + patch("*** Delete File: b.py")
    assert parse_edits(text) == [Delete(path="a.py"), Delete(path="b.py")]


def test_line_numbers_are_positions_and_no_heads() -> None:
    text = patch(
        "*** Update File: a.py",
        "@@ -4,2 +4,2 @@ def f():",
        " x",
        "-a",
        "+b",
        "@@ -9,9 +9,9 @@ def g():",
        "-c",
    )
    (change,) = parse_edits(text)
    assert isinstance(change, Update)
    right, wrong = change.edits
    assert isinstance(right, Hunk)
    assert isinstance(wrong, Hunk)
    assert (right.start, right.counted, right.heads) == (4, True, ())
    assert (wrong.start, wrong.counted, wrong.heads) == (9, False, ("def g():",))


def test_an_empty_line_is_context_but_not_at_the_end() -> None:
    text = patch("*** Update File: a.py", "@@", " a", "", "-b", "", "@@", "-c", "", "*** Delete File: d.py")
    assert parse_edits(text) == [
        Update(path="a.py", edits=(hunk(" a", " ", "-b"), hunk("-c"))),
        Delete(path="d.py"),
    ]


def test_a_blank_context_line_with_its_mark_stays_at_the_end() -> None:
    assert parse_edits(patch("*** Update File: a.py", "@@", "-a", " ")) == [
        Update(path="a.py", edits=(hunk("-a", " "),))
    ]


def test_context_that_lost_its_mark_is_context() -> None:
    text = patch(
        "*** Update File: a.py", "@@", "def f():", "    a = 1", "-    b = 2", "+    b = 3", "    return a"
    )
    assert parse_edits(text) == [
        Update(
            path="a.py", edits=(hunk(" def f():", "     a = 1", "-    b = 2", "+    b = 3", "     return a"),)
        )
    ]


def test_only_the_outermost_context_lost_its_mark() -> None:
    text = patch("*** Update File: a.py", "@@", "def f():", "     a = 1", "-    b = 2", "     return a")
    assert parse_edits(text) == [
        Update(path="a.py", edits=(hunk(" def f():", "     a = 1", "-    b = 2", "     return a"),))
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ["+a", "+", "+b"],
        ["+a", "", "+b", ""],
        ["@@", "+a", "+", "+b"],
        ["@@ -0,0 +1,3 @@", "+a", "+", "+b"],
        ["+a", "+", "+b", "*** End of File"],
        ["a", "", "b"],
    ],
)
def test_a_new_file(lines: list[str]) -> None:
    assert parse_edits(patch("*** Add File: a.py", *lines)) == [Create(path="a.py", content="a\n\nb\n")]


def test_a_new_file_may_be_empty_or_end_without_a_newline() -> None:
    assert parse_edits(patch("*** Add File: __init__.py")) == [Create(path="__init__.py", content="")]
    assert parse_edits(patch("*** Add File: a", "+x", "\\ No newline at end of file")) == [
        Create(path="a", content="x")
    ]


def test_what_a_removed_file_contains_may_be_given() -> None:
    (change,) = parse_edits(patch("*** Delete File: a.py", "-x", "-y"))
    assert isinstance(change, Delete)
    assert [found.old for found in change.hunks] == [("x", "y")]


def test_a_line_of_text_may_look_like_a_marker_behind_its_mark() -> None:
    lines = [
        "+*** End Patch",
        "-*** Update File: b.py",
        "+@@ x",
        " *** Note: y",
        "+<<<<<<< SEARCH",
        "+--- a/x",
        "++++ b/x",
    ]
    assert parse_edits(patch("*** Update File: a.md", "@@", *lines)) == [
        Update(path="a.md", edits=(hunk(*lines),))
    ]


def test_a_diff_between_the_markers_of_a_patch_is_a_diff() -> None:
    text = patch("--- a/a.py", "+++ b/a.py", "@@ -1,1 +1,1 @@", "-x", "+y")
    assert parse_edits(text) == [
        Update(path="a.py", edits=(Hunk(lines=(Line("-", "x"), Line("+", "y")), start=1, counted=True),))
    ]


@pytest.mark.parametrize("last", ["+new", "-old", "*** Update File: a.py", "*** Add File: b.py"])
def test_a_patch_that_may_be_cut_off_is_refused(last: str) -> None:
    with pytest.raises(MalformedEdit, match=r"cut off|no lines"):
        parse_edits("\n".join(["*** Begin Patch", "*** Update File: a.py", "@@", "-x", last]))
