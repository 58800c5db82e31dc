"""How deep further lines stand when `old` is one line without all of its indentation: decided, or refused."""

from __future__ import annotations

import pytest

from tools.edit.apply.edit_engine import EditRefused, edit_text
from tools.edit.edit_model import Replace

PYTHON = "def f():\n    a = 1\n    return a\n"


def part(text: str, old: str, new: str, path: str) -> str:
    return edit_text(text, [Replace(old=old, new=new)], path=path).text


def test_the_syntax_decides_where_only_one_reading_parses() -> None:
    assert part(PYTHON, "a = 1", "a = 1\nb = 2", "a.py") == "def f():\n    a = 1\n    b = 2\n    return a\n"
    assert (
        part(PYTHON, "a = 1", "a = 1\n    b = 2", "a.py") == "def f():\n    a = 1\n    b = 2\n    return a\n"
    )


def test_brackets_decide_in_a_language_of_braces() -> None:
    text = "function f() {\n  a();\n}\n"
    assert part(text, "a();", "a();\nb();", "a.js") == "function f() {\n  a();\n  b();\n}\n"
    assert part(text, "a();", "a();\n}\nfunction g() {\n  b();", "a.js") == (
        "function f() {\n  a();\n}\nfunction g() {\n  b();\n}\n"
    )


def test_a_bracket_that_the_old_text_closes_too_leaves_no_block() -> None:
    text = "if (a) {\n  try {\n    b();\n  } finally\n  {\n  }\n}\n"
    made = part(text, "} finally", "}\nfinally", "a.unknown.cs")
    assert made == text.replace("} finally", "}\n  finally")


def test_what_neither_decides_is_refused() -> None:
    with pytest.raises(EditRefused, match="lacks its indentation"):
        part("- one\n  - two\n", "- two", "- two\n- three", "a.txt")


def test_a_whole_line_has_nothing_to_decide() -> None:
    assert part("a\nb\n", "a", "a\n  c", "a.txt") == "a\n  c\nb\n"


def test_a_line_that_nothing_opens_is_not_put_deeper() -> None:
    text = "type A =\n    ? true\n    : false;\n\n  export const b = 1;\n"
    with pytest.raises(EditRefused, match="lacks its indentation"):
        part(text, ": false;\n", ": false;\n\n  export type C = 2;\n", "a.ts")


def test_brackets_decide_nothing_where_none_ends_the_block() -> None:
    text = "/*\nFor example:\n\n\tone()\n\ttwo()\n\nThen.\n*/\n"
    new = "two()\n\nOr else:\n\n\tthree()\n"
    with pytest.raises(EditRefused, match="is not clear"):
        part(text, "two()\n", new, "a.go")
    with pytest.raises(EditRefused, match="is not clear"):
        part(text.replace("two()\n\nThen", "two()\nThen"), "two()", new, "a.go")
