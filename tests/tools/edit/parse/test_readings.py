"""What is taken off a text that does not stand in the file as it was given."""

from __future__ import annotations

import pytest

from tools.edit.apply.edit_engine import edit_text
from tools.edit.edit_model import Replace
from tools.edit.parse.readings import generate_readings

TEXT = 'def f():\n    say("a\\n", b < c)\n    return 1\n'


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        ("```python\n    return 1\n```", "```python\n    return 2\n```", "fence removed"),
        ("3|    return 1\n4|\n", "3|    return 2\n4|\n", "line numbers removed"),
        ("-    return 1\n", "+    return 2\n", "diff marks removed"),
        ("def f():\\n    say", "def g():\\n    say", "escapes undone"),
        ('say("a\\n", b &lt; c)', 'tell("a\\n", b &lt; c)', "HTML entities undone"),
    ],
)
def test_a_wrapping_is_taken_off_and_said(old: str, new: str, note: str) -> None:
    assert note in [reading.note for reading in generate_readings(Replace(old=old, new=new))]


def test_the_text_as_given_comes_first_and_nothing_twice() -> None:
    found = list(generate_readings(Replace(old="```\n1| a\n```", new="```\n1| b\n```")))
    assert found[0].note == ""
    pairs = [(reading.old, reading.new) for reading in found]
    assert len(pairs) == len(set(pairs))


def test_a_plain_text_has_one_reading() -> None:
    assert len(list(generate_readings(Replace(old="a = 1", new="a = 2")))) == 1


def test_what_stands_in_the_file_as_given_is_not_unwrapped() -> None:
    text = "shown:\n```\ncode\n```\ncode\n"
    result = edit_text(text, [Replace(old="```\ncode\n```\n", new="```\nmore\n```\n")])
    assert result.text == "shown:\n```\nmore\n```\ncode\n"
    assert result.places[0].note == ""


def test_the_place_says_what_was_undone() -> None:
    result = edit_text(
        TEXT,
        [
            Replace(
                old='2|     say("a\\n", b < c)\n3|     return 1',
                new='2|     say("a\\n", b < c)\n3|     return 2',
            )
        ],
    )
    assert result.text == TEXT.replace("return 1", "return 2")
    assert "line numbers removed" in result.places[0].note


def test_curly_quotes_of_new_code_are_made_plain_where_it_would_not_parse_with_them() -> None:
    edits = [Replace(old="    return 1\n", new="    return “one” + ‘two’\n")]
    result = edit_text(TEXT, edits, path="a.py")
    assert result.text == TEXT.replace("1", "\"one\" + 'two'")
    assert result.places[0].note == "quotes and dashes made plain"


def test_curly_quotes_that_new_code_may_have_stay() -> None:
    result = edit_text(TEXT, [Replace(old="    return 1\n", new="    return 'don’t'\n")], path="a.py")
    assert result.text == TEXT.replace("1", "'don’t'")
