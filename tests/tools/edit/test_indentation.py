"""The model's indentation becomes the file's, as far as the matched lines tell."""

from __future__ import annotations

import pytest

from tools.edit.indentation import fitted, indent_of, tab_indented, unit_of

SPACES = ["def f():", "    if a:", "        b()"]


@pytest.mark.parametrize(
    ("pairs", "given", "file", "tabs", "expected"),
    [
        pytest.param([("", "    ")], "    ", SPACES, False, "        ", id="all given one level too shallow"),
        pytest.param([("    ", "")], "        ", SPACES, False, "    ", id="all given one level too deep"),
        pytest.param([("    ", "\t")], "        ", ["a", "\tb"], True, "\t\t", id="spaces for tabs"),
        pytest.param([("\t", "    ")], "\t\t", SPACES, False, "        ", id="tabs for spaces"),
        pytest.param(
            [("  ", "    "), ("    ", "        ")], "      ", SPACES, False, " " * 12, id="two for four"
        ),
    ],
)
def test_lines_are_mapped_as_the_matched_ones_are(
    pairs: list[tuple[str, str]], given: str, file: list[str], tabs: bool, expected: str
) -> None:
    mapping = fitted(pairs, [f"{given}x"], file, tabs)
    assert mapping is not None
    assert mapping(given) == expected


def test_one_indentation_that_stands_for_two_has_no_mapping() -> None:
    assert fitted([("", ""), ("", "    ")], ["x"], SPACES, False) is None


def test_what_is_too_shallow_for_the_mapping_is_not_guessed() -> None:
    mapping = fitted([("    ", "")], ["x"], SPACES, False)
    assert mapping is not None
    assert mapping("") is None


def test_kinds_and_units_are_read_from_lines() -> None:
    assert tab_indented(["\ta", "b"]) is True
    assert tab_indented(["  a"]) is False
    assert tab_indented(["\ta", "  b"]) is None
    assert tab_indented([" * of a comment"]) is None
    assert unit_of(["a", "  b", "    c", "d", "  e"]) == 2
    assert unit_of(["a"]) == 4
    assert indent_of("\t x") == "\t "
