"""Answers of a read-only child session: an array of objects somewhere in its text, or nothing."""

from __future__ import annotations

import pytest

from packages.search.reader import get_text_field, parse_objects

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('[{"id": "r1"}]', [{"id": "r1"}]),
        (
            'See [1]. Here:\n```json\n[{"id": "r1"}, "x", {"id": "r2"}]\n```\nDone [{"id": "no"}]',
            [{"id": "r1"}, {"id": "r2"}],
        ),
        ("[]", []),
        ("I cannot say.", []),
        ("[" * 5_000, []),
        ('[{"id": ', []),
        ('{"id": "r1"}', []),
    ],
)
def test_the_first_array_of_objects_counts(answer: str, found: list[dict[str, str]]) -> None:
    assert parse_objects(answer) == found


def test_a_field_of_another_type_is_no_text() -> None:
    assert get_text_field({"a": " x\ny "}, "a") == "x y"
    assert [get_text_field({"a": each}, "a") for each in (3, None, ["x"], {})] == [""] * 4
    assert len(get_text_field({"a": "x" * 9_000}, "a")) == 500
