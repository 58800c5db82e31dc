"""Exact replacement as pure functions of texts."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tools.edit.exact import line_of, nearest, owner, replaced, sites

pieces = st.text(alphabet="ab_ (\n", max_size=40)


@given(pieces, st.text(alphabet="ab_ (\n", min_size=1, max_size=4), pieces)
def test_sites_do_not_overlap_and_hold_the_text(text: str, old: str, new: str) -> None:
    found = sites(text, old)
    assert all(text[offset : offset + len(old)] == old for offset in found)
    assert all(later - earlier >= len(old) for earlier, later in pairwise(found))
    result = replaced(text, old, new, found)
    assert len(result) == len(text) + len(found) * (len(new) - len(old))


@given(pieces, st.text(alphabet="ab_ (\n", min_size=1, max_size=4))
def test_replacing_there_and_back_gives_the_text(text: str, old: str) -> None:
    found = sites(text, old)
    marked = replaced(text, old, "§" * len(old), found)
    assert replaced(marked, "§" * len(old), old, found) == text


def test_identifiers_are_whole_on_both_sides() -> None:
    assert sites("maxx = 1", "x = 1") == []
    assert sites("x = 10", "x = 1") == []
    assert sites("größe = 1", "e = 1") == []
    assert sites("a.x = 1;", "x = 1") == [2]
    assert sites("(x)(x)", "(x)") == [0, 3]


def test_lines_are_counted_from_one() -> None:
    assert [line_of("a\nb\nc", offset) for offset in (0, 1, 2, 4)] == [1, 1, 2, 3]


def test_owners_are_found_in_several_languages() -> None:
    python = ["class A:", "    x = 1", "", "    async def f(self):", "        return 1", ""]
    assert owner(python, 5) == "class A, def f(self)"
    assert owner(python, 2) == "class A"
    rust = ["impl Cart {", "    pub fn total(&self) -> i32 {", "        1", "    }", "}", ""]
    assert owner(rust, 3) == "impl Cart, fn total(&self) -> i32"
    assert owner(["x = 1"], 1) == ""


def test_the_nearest_place_is_found_in_a_long_file() -> None:
    lines = [f"value_{n} = {n}" for n in range(20_000)]
    lines[15_000:15_003] = ["def total(self):", "    return sum(self.items)", "    # end"]
    near = nearest("\n".join(lines), "def total(self):\n    return sum(self.item)\n    # end")
    assert near is not None
    assert near.line == 15_001


def test_what_is_unlike_everything_has_no_nearest_place() -> None:
    assert nearest("a = 1\nb = 2\n", "@@@@@@@@@@@@@@@@@@") is None
    assert nearest("", "a") is None
