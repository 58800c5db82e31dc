"""Exact places as pure functions of texts."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.edit.match.exact_match import (
    describe_enclosing_scope,
    find_nearest,
    find_occurrences,
    find_whole_lines,
    has_word_boundaries,
    line_number_at,
    select_disjoint,
)

pieces = st.text(alphabet="ab_ (\n", max_size=40)
short = st.text(alphabet="ab_ (\n", min_size=1, max_size=4)


@pytest.mark.slow
@given(pieces, short)
def test_sites_are_all_the_places_that_cut_no_identifier(text: str, old: str) -> None:
    everywhere = [match.start() for match in re.finditer(f"(?={re.escape(old)})", text)]
    assert find_occurrences(text, old) == [
        offset for offset in everywhere if has_word_boundaries(text, offset, offset + len(old))
    ]


@pytest.mark.slow
@given(pieces, short)
def test_sites_that_are_apart_can_be_replaced_together(text: str, old: str) -> None:
    found = find_occurrences(text, old)
    chosen = select_disjoint(found, len(old))
    assert set(chosen) <= set(found)
    assert chosen[:1] == found[:1]
    assert all(later - earlier >= len(old) for earlier, later in pairwise(chosen))
    left_out = set(found) - set(chosen)
    assert all(any(each < offset < each + len(old) for each in chosen) for offset in left_out)


@pytest.mark.slow
@given(st.lists(st.sampled_from(["", "a", "b", " a"]), max_size=8), st.data())
def test_line_sites_are_those_of_whole_lines(lines: list[str], data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.sampled_from(["", "a", "b"]), min_size=1, max_size=3))
    text = "".join(f"{line}\n" for line in lines)
    size = len(wanted)
    expected = [at for at in range(len(lines) - size + 1) if lines[at : at + size] == wanted]
    found = find_whole_lines(text, wanted)
    if wanted[-1]:
        assert found == expected
    else:  # the end of the text may stand for an empty last line
        assert set(expected) <= set(found)


def test_identifiers_are_whole_on_both_sides() -> None:
    assert find_occurrences("maxx = 1", "x = 1") == []
    assert find_occurrences("x = 10", "x = 1") == []
    assert find_occurrences("größe = 1", "e = 1") == []
    assert find_occurrences("a.x = 1;", "x = 1") == [2]
    assert find_occurrences("(x)(x)", "(x)") == [0, 3]


def test_places_that_overlap_are_several() -> None:
    assert find_occurrences("((((", "((") == [0, 1, 2]
    assert select_disjoint([0, 1, 2], 2) == [0, 2]


def test_lines_are_counted_from_one() -> None:
    assert [line_number_at("a\nb\nc", offset) for offset in (0, 1, 2, 4)] == [1, 1, 2, 3]


def test_owners_are_found_in_several_languages() -> None:
    python = ["class A:", "    x = 1", "", "    async def f(self):", "        return 1", ""]
    assert describe_enclosing_scope(python, 5) == "class A, def f(self)"
    assert describe_enclosing_scope(python, 2) == "class A"
    rust = ["impl Cart {", "    pub fn total(&self) -> i32 {", "        1", "    }", "}", ""]
    assert describe_enclosing_scope(rust, 3) == "impl Cart, fn total(&self) -> i32"
    assert describe_enclosing_scope(["x = 1"], 1) == ""


def test_the_nearest_place_is_found_in_a_long_file() -> None:
    lines = [f"value_{n} = {n}" for n in range(20_000)]
    lines[15_000:15_003] = ["def total(self):", "    return sum(self.items)", "    # end"]
    near = find_nearest("\n".join(lines), "def total(self):\n    return sum(self.item)\n    # end")
    assert near is not None
    assert near.line == 15_001


def test_what_is_unlike_everything_has_no_nearest_place() -> None:
    assert find_nearest("a = 1\nb = 2\n", "@@@@@@@@@@@@@@@@@@") is None
    assert find_nearest("", "a") is None
