"""Questions for a function without its code: three forms, made of the assertions of its test."""

from __future__ import annotations

import pytest

from packages.offline.lead.function_questions import MOST_EXAMPLES, build_questions

LEAP = "def is_leap(year, *, julian=False):\n    return year % 4 == 0\n"
TEST = "def test_leap():\n    assert is_leap(2024)\n    assert not is_leap(1900)\n    assert is_leap(2000) == True\n"


def test_the_forms_have_the_signature_and_the_assertions_and_not_the_code() -> None:
    asserted, completed, described = build_questions(LEAP, TEST)
    assert "`is_leap`" in asserted
    assert "assert is_leap(2024)\nassert not is_leap(1900)\nassert is_leap(2000) == True" in asserted
    head = (
        'def is_leap(year, *, julian=False):\n    """\n    >>> is_leap(2024)\n    True\n    >>> is_leap(1900)'
    )
    assert head in completed
    assert "`is_leap(year, *, julian=False)`.\nExamples:\n>>> is_leap(2024)\nTrue\n" in described
    assert described.endswith(">>> is_leap(2000)\nTrue")
    assert "% 4" not in asserted + completed + described


@pytest.mark.parametrize(
    ("function", "test"),
    [
        ("def broken(:\n", TEST),
        ("@cache\ndef is_leap(year):\n    pass\n", TEST),
        ("async def is_leap(year):\n    pass\n", TEST),
        (LEAP, "def test_leap():\n    with raises(ValueError):\n        is_leap('')\n"),
        (LEAP, "not Python"),
        (LEAP + LEAP, TEST),
    ],
)
def test_what_cannot_be_asked_so_is_not(function: str, test: str) -> None:
    assert build_questions(function, test) == []


def test_a_long_test_is_shown_in_part() -> None:
    lines = "".join(f"    assert is_leap({4 * number})\n" for number in range(50))
    for each in build_questions(LEAP, f"def test_leap():\n{lines}"):
        assert each.count("is_leap(") <= MOST_EXAMPLES + 1
