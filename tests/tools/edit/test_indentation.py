"""The model's indentation becomes the file's, as far as the matched lines tell."""

from __future__ import annotations

import pytest

from tools.edit.indentation import fit_indent_mapping, indent_of, is_tab_indented, measure_indent_unit

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
    mapping = fit_indent_mapping(pairs, [f"{given}x"], file, tabs)
    assert mapping is not None
    assert mapping(given) == expected


def test_one_indentation_that_stands_for_two_has_no_mapping() -> None:
    assert fit_indent_mapping([("", ""), ("", "    ")], ["x"], SPACES, False) is None


def test_what_is_too_shallow_for_the_mapping_is_not_guessed() -> None:
    mapping = fit_indent_mapping([("    ", "")], ["x"], SPACES, False)
    assert mapping is not None
    assert mapping("") is None


def test_kinds_and_units_are_read_from_lines() -> None:
    assert is_tab_indented(["\ta", "b"]) is True
    assert is_tab_indented(["  a"]) is False
    assert is_tab_indented(["\ta", "  b"]) is None
    assert is_tab_indented([" * of a comment"]) is None
    assert measure_indent_unit(["a", "  b", "    c", "d", "  e"]) == 2
    assert measure_indent_unit(["a"]) == 4
    assert indent_of("\t x") == "\t "
