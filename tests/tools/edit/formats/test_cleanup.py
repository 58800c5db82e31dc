"""What models copy along with a text is taken off; what is not there is left alone."""

from __future__ import annotations

import pytest

from tools.edit.formats.cleanup import strip_diff_marks, strip_fences, strip_line_numbers, undo_escapes


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("12\tdef f():\n13\t    return 1", "def f():\n    return 1"),
        ("   9\ta\n  10\t\n  11\tb\n", "a\n\nb\n"),
        ("     1\ta\n     2\n     3\tb", "a\n\nb"),
        ("  1→a\n  2→  b", "a\n  b"),
        ("12: a\n13:   b", "a\n  b"),
        ("12: a\n13:\n14: b", "a\n\nb"),
        ("12:a\n13:  b", "a\n  b"),
        ("12|a\n13|  b", "a\n  b"),
        ("12 | a\n13 |   b", "a\n  b"),
        ("  8│ a\n  9│ b", "a\nb"),
        ("1. a\n2. b", "a\nb"),
        ("7\ta", "a"),
        ("   7: a", "a"),
        ("7\ta\n...\n30\tb", "a\n...\nb"),
        ("7\ta\n\n9\tb", "a\n\nb"),
        ("7\ta\n\n8\tb", "a\n\nb"),
    ],
)
def test_line_numbers_are_taken_off(text: str, plain: str) -> None:
    assert strip_line_numbers(text) == plain


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a = 1",
        "12\ta\nb",
        "12\ta\n14\tb",
        "12\ta\n11\tb",
        "12\ta\n13: b",
        "1: 'one',",
        "12",
        "x\n12\ta",
        "12 a\n13 b",
        "12345678\ta",
        "7\ta\n\n\n11\tb",
    ],
)
def test_other_numbers_are_text(text: str) -> None:
    assert strip_line_numbers(text) is None


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("```\na\n```", "a"),
        ("```python\na\nb\n```\n", "a\nb\n"),
        ("\n```js title=x\na\n```\n\n", "a\n"),
        ("~~~\na\n~~~", "a"),
        ("````\n```\na\n```\n````", "a"),
        ("```\n\n  a\n\n```", "\n  a\n"),
        ("<code>\na\n</code>", "a"),
        ("<code>a</code>", "a"),
        ("<old_string>\n  a\n</old_string>\n", "  a\n"),
        ("<![CDATA[a\nb]]>", "a\nb"),
        ("<content><![CDATA[\na\n]]></content>", "a"),
        ("<code>\n```python\na\n```\n</code>", "a"),
    ],
)
def test_a_fence_around_all_of_it_is_taken_off(text: str, plain: str) -> None:
    assert strip_fences(text) == plain


@pytest.mark.parametrize(
    "text",
    ["", "a", "```\na", "a\n```", "```a```", "```\na\n```\nb\n```\nc\n```", "```\na\n```\nb", "<div>\na\n</div>",
     "<code>\na", "<code>a</source>", "~~~\na\n```"],
)  # fmt: skip
def test_other_fences_are_text(text: str) -> None:
    assert strip_fences(text) is None


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"a\n\tb", "a\n\tb"),
        (r"print(\"x\")", 'print("x")'),
        (r"a\\n\nb", "a\\n\nb"),
        (r"a\u00e9\n", "aé\n"),
        (r"re.match('\d+')\n", "re.match('\\d+')\n"),
        ('x = \\"a\\"\ny', 'x = "a"\ny'),
    ],
)
def test_escapes_are_undone(text: str, plain: str) -> None:
    assert undo_escapes(text) == plain


@pytest.mark.parametrize("text", ["", "a", "a\nb", r"re.match('\d')", 'x = "a\\"b"\ny', r"a\nb" + "\nc"])
def test_other_backslashes_are_text(text: str) -> None:
    assert undo_escapes(text) is None


@pytest.mark.parametrize(
    ("text", "plain"),
    [("-a\n-b", "a\nb"), (" a\n-b\n\n c\n", "a\nb\n\nc\n"), ("+a", "a"), ("+a\n  b", "a\n b")],
)
def test_the_marks_of_a_diff_are_taken_off(text: str, plain: str) -> None:
    assert strip_diff_marks(text) == plain


@pytest.mark.parametrize("text", ["", "a", " a\n b", "-a\n+b", "-a\nb", "\n\n"])
def test_other_signs_are_text(text: str) -> None:
    assert strip_diff_marks(text) is None
