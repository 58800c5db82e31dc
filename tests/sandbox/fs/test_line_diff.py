"""Opcodes turn the old lines into the new ones, as difflib's do, and soon also for long files."""

from __future__ import annotations

import difflib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.fs import line_diff
from sandbox.fs.line_diff import compute_opcodes

pytestmark = pytest.mark.slow


TEXTS = st.lists(st.sampled_from(["", "}", "a", "b", "c", "d", "e", "f", "g"]), max_size=40)


def applied(old: list[str], new: list[str]) -> list[str]:
    """The new lines, made of those of the old that the opcodes keep and of what they put in."""
    made: list[str] = []
    at_old = at_new = 0
    for tag, a, b, c, d in compute_opcodes(old, new):
        assert (a, c) == (at_old, at_new), "no gap"
        assert {"equal": a < b and c < d, "replace": a < b and c < d, "delete": c == d, "insert": a == b}[tag]
        made += old[a:b] if tag == "equal" else new[c:d]
        at_old, at_new = b, d
    assert (at_old, at_new) == (len(old), len(new))
    return made


@given(TEXTS, TEXTS)
def test_short_texts_are_compared_as_difflib_does(old: list[str], new: list[str]) -> None:
    assert (
        list(compute_opcodes(old, new))
        == difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    )


@given(TEXTS, TEXTS, st.integers(0, 60))
def test_cut_into_pieces_they_still_make_the_new_lines(old: list[str], new: list[str], small: int) -> None:
    whole, line_diff.SMALL = line_diff.SMALL, small
    try:
        assert applied(old, new) == new
    finally:
        line_diff.SMALL = whole


def test_lines_that_stand_alone_are_found_again_wherever_they_moved_together() -> None:
    old = [f"line {number}" for number in range(5000)]
    new = [*old[:1000], "new", *old[2000:4000], *(["}"] * 10), *old[4000:]]
    assert list(compute_opcodes(old, new)) == [
        ("equal", 0, 1000, 0, 1000),
        ("replace", 1000, 2000, 1000, 1001),
        ("equal", 2000, 4000, 1001, 3001),
        ("insert", 4000, 4000, 3001, 3011),
        ("equal", 4000, 5000, 3011, 4011),
    ]


def test_a_long_file_of_which_each_fourth_line_changed_takes_no_longer_than_it_is_long() -> None:
    """difflib alone takes minutes for the short one."""

    def seconds(functions: int) -> float:
        old = [line for i in range(functions) for line in (f"int f{i}(){{", f"  return {i};", "}", "")]
        new = [line.replace("(){", "() {") for line in old]
        started = time.process_time()
        assert applied(old, new) == new
        return time.process_time() - started

    seconds(1_000)
    assert seconds(8_000) < 50 * max(seconds(1_000), 0.005)


def test_lines_that_are_all_the_same_are_not_compared_with_each_other() -> None:
    assert applied(["}"] * 30_000 + ["end"], ["start"] + ["}"] * 20_000) == ["start"] + ["}"] * 20_000
