"""What the model has seen of a file, told apart from what has changed since: by lines, without their text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.changes.file_versions import create_version, diff_sequences, find_changed_ranges, update_after_edit

LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12)


@pytest.mark.slow
@given(LINES, LINES)
def test_what_differs_is_all_that_differs(old: list[str], new: list[str]) -> None:
    rebuilt, at = [], 0
    for first, end, new_first, new_end in diff_sequences(old, new):
        rebuilt += old[at:first] + new[new_first:new_end]
        at = end
    assert rebuilt + old[at:] == new
    assert all(
        first < end or new_first < new_end for first, end, new_first, new_end in diff_sequences(old, new)
    )


def test_lines_that_changed_are_numbered_as_they_stand_now() -> None:
    seen = create_version("1", "a\nb\nc\nd")
    assert find_changed_ranges(seen, "a\nb\nc\nd") == []
    assert find_changed_ranges(seen, "new\na\nB\nc\nd") == [(0, 1), (2, 3)]
    assert find_changed_ranges(seen, "a\nd") == [(1, 1)]


def test_an_edit_makes_nothing_else_known() -> None:
    seen = create_version("1", "a\nb\nc\nd\ne\nf")
    on_disk = "a\nB\nc\nd\ne\nf"
    edited = "a\nB\nc\nd\none\ntwo\nf"
    after = update_after_edit(seen, on_disk, edited)
    assert after.fingerprint == ""
    assert find_changed_ranges(after, edited) == [(1, 2)]


def test_the_lines_of_a_foreign_change_move_with_an_edit_above_them() -> None:
    seen = create_version("1", "a\nb\nc\nd\ne\nf")
    on_disk = "a\nb\nc\nd\nE\nf"
    edited = "a\none\ntwo\nthree\nc\nd\nE\nf"
    assert find_changed_ranges(update_after_edit(seen, on_disk, edited), edited) == [(6, 7)]


@pytest.mark.slow
@given(st.integers(0, 9), st.integers(0, 9), st.lists(st.sampled_from("xyz"), min_size=1, max_size=4))
def test_after_an_edit_only_the_foreign_line_is_unknown(foreign: int, mine: int, new: list[str]) -> None:
    if foreign == mine:
        mine = (foreign + 5) % 10
    lines = [f"line {number}" for number in range(10)]
    on_disk = [*lines]
    on_disk[foreign] = "foreign"
    edited = [*on_disk[:mine], *new, *on_disk[mine + 1 :]]
    after = update_after_edit(create_version("1", "\n".join(lines)), "\n".join(on_disk), "\n".join(edited))
    at = edited.index("foreign")
    assert find_changed_ranges(after, "\n".join(edited)) == [(at, at + 1)]
