"""What `new` shares with `old` tells how it is written: a slip in one of them alone is seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.edit.apply.edit_engine import EditRefused, edit_text
from tools.edit.edit_model import Replace

TEXT = "fn a() {\n    let b = 1;\n    if c {\n        d(b);\n    }\n}\n"
OLD = "    let b = 1;\n    if c {\n        d(b);\n    }\n"


def made(new: str, old: str = OLD, text: str = TEXT, path: str = "a.rs") -> str:
    return edit_text(text, [Replace(old=old, new=new, whole_lines=True)], path=path).text


@pytest.mark.parametrize(
    "new",
    [
        pytest.param("let b = 2;\nif c {\n    d(b);\n}\n", id="all lines have lost it"),
        pytest.param("let b = 1;\n    if c {\n        e(b);\n    }\n", id="the first line has lost it"),
        pytest.param("\tlet b = 1;\n\tif c {\n\t\te(b);\n\t}\n", id="tabs for spaces"),
        pytest.param("    let b = 1;\n    ...\n    }\n", id="dots for lines that are given"),
        pytest.param(
            "        let b = 2;\n        if c {\n            d(b);\n        }\n", id="all are deeper"
        ),
    ],
)
def test_what_only_new_has_lost_is_refused(new: str) -> None:
    with pytest.raises(EditRefused):
        made(new)


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(OLD.replace("    ", "  "), id="white space is all that changes"),
        pytest.param("    {\n        let b = 1;\n    }\n", id="a block around what stays"),
        pytest.param("    let b = 1;\n    d(b);\n", id="a block that goes from around what stays"),
        pytest.param("#[cfg(e)]\n    let b = 1;\n", id="a line that stands at the margin"),
        pytest.param("    let b = 1;\n    d(b)\n        .e()\n", id="some lines move, some do not"),
    ],
)
def test_a_change_of_indentation_that_shows_its_reason_is_made_as_given(new: str) -> None:
    assert made(new) == TEXT.replace(OLD, new)


def test_indentation_that_only_old_can_have_lost_leaves_new_as_it_is() -> None:
    new = OLD.replace("d(b)", "d(b, 1)")
    assert made(new, "let b = 1;\nif c {\nd(b);\n}\n") == TEXT.replace(OLD, new)


def test_indentation_that_both_or_only_old_may_have_otherwise_is_refused() -> None:
    new = OLD.replace("d(b)", "d(b, 1)")
    less, more = "let b = 1;\nif c {\n    d(b);\n}\n", "".join(f"    {line}\n" for line in OLD.splitlines())
    for old in (less, more):
        with pytest.raises(EditRefused, match="not indented alike"):
            made(new, old)


def test_a_line_that_new_repeats_says_nothing_of_the_manner() -> None:
    text = "{\n    a(b);\n}\ntail\n"
    new = "a(b);\n}\nelse {\n    a(b);\n}\ntail\n"
    assert made(new, "a(b);\n}\ntail\n", text) == "{\n    " + new


def test_a_block_of_which_all_indentation_is_lost_is_refused() -> None:
    with pytest.raises(EditRefused, match="indent"):
        made("let b = 1;\nif e {\nf(b);\n}\n", "let b = 1;\nif c {\nd(b);\n}\n")


def test_numbers_of_new_alone_are_taken_off_where_they_are_those_of_the_lines() -> None:
    numbered = "2|    let b = 2;\n3|    if c {\n4|        d(b);\n5|    }\n"
    assert made(numbered) == TEXT.replace("= 1", "= 2")
    assert made("2 | let b = 2;\n", "let b = 1;\n", "x\nlet b = 1;\n") == "x\nlet b = 2;\n"
    assert made("7| b\n", "a\n", "a\n") == "7| b\n"  # not where it stands


def test_a_fence_of_new_alone_is_taken_off_in_code_and_kept_in_prose() -> None:
    fenced = f"```rust\n{OLD.replace('= 1', '= 2')}```\n"
    assert made(fenced) == TEXT.replace("= 1", "= 2")
    assert made("```\na\n```\n", "a\n", "a\nb\n", path="a.md") == "```\na\n```\nb\n"


def test_tags_and_fences_that_a_file_may_have_stay() -> None:
    assert made("<text>b</text>\n", "a\n", "a\n", "a.svg") == "<text>b</text>\n"
    text = '"""\nSay.\n\na = 1\n"""\n'
    fenced = "```\na = 1\n```\n"
    assert made(fenced, "a = 1\n", text, "a.py") == text.replace("a = 1\n", fenced)


def test_white_space_at_the_ends_of_all_new_lines_goes() -> None:
    spaced = "".join(f"{line}  \n" for line in OLD.replace("= 1", "= 2").splitlines())
    assert made(spaced) == TEXT.replace("= 1", "= 2")
    old = "".join(f"{line}  \n" for line in OLD.splitlines())
    assert made(spaced, old) == TEXT.replace("= 1", "= 2")


def test_white_space_at_the_end_of_one_new_line_is_refused_if_old_has_some_of_its_own() -> None:
    old = OLD.replace("1;", "1; ")
    with pytest.raises(EditRefused, match="ends of lines"):
        made(old.replace("d(b);", "d(b, 1); "), old)


def test_dots_may_be_the_body_of_a_python_function() -> None:
    text = "def f():\n    pass\n\n\ndef g():\n    a()\n    b()\n"
    assert made("def f():\n    ...\n", "def f():\n    pass\n", text, "a.py") == text.replace("pass", "...")
    with pytest.raises(EditRefused, match="2 lines"):
        made("def g(x):\n    ...\n", "def g():\n    a()\n    b()\n", text, "a.py")


@given(st.integers(1, 3), st.sampled_from(["a.rs", "a.py", "a.txt"]))
def test_no_one_slip_in_new_alone_moves_the_lines_it_shares(levels: int, path: str) -> None:
    """A block at any depth, one of whose lines changes: less indentation throughout is never written."""
    depth = "    " * levels
    lines = [f"{depth}first = one", f"{depth}second = two", f"{depth}third = three"]
    text = "\n".join(["head:", *lines, "tail"]) + "\n"
    old = "\n".join(lines) + "\n"
    for cut in range(1, len(depth) + 1):
        new = "".join(f"{line[cut:]}\n" for line in lines).replace("two", "2")
        with pytest.raises(EditRefused):
            made(new, old, text, path)
