"""The three-way merge that undo and commits share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.fs.three_way_merge import MergeConflict, merge_lines, merge_values

BASE = b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


def refuse() -> int:
    raise MergeConflict("both")


@pytest.mark.slow
@given(st.integers(0, 3), st.integers(0, 3))
def test_the_side_that_changed_a_value_wins(base: int, changed: int) -> None:
    assert merge_values(base, changed, base, refuse) == changed
    assert merge_values(base, base, changed, refuse) == changed
    assert merge_values(base, changed, changed, refuse) == changed


def test_what_both_changed_differently_is_left_to_the_caller() -> None:
    assert merge_values(1, 2, 3, lambda: 4) == 4
    with pytest.raises(MergeConflict):
        merge_values(1, 2, 3, refuse)
    with pytest.raises(MergeConflict):
        merge_values(1, 2, None, refuse)


def test_distant_lines_are_merged_in_both_orders() -> None:
    ours, theirs = BASE.replace(b"one", b"1"), BASE.replace(b"seven", b"7")
    merged = BASE.replace(b"one", b"1").replace(b"seven", b"7")
    assert merge_lines(BASE, ours, theirs) == merge_lines(BASE, theirs, ours) == merged


def test_a_missing_last_newline_and_carriage_returns_are_kept() -> None:
    base = BASE.replace(b"\n", b"\r\n")
    ours, theirs = base.replace(b"one", b"1"), base.removesuffix(b"\r\n")
    assert merge_lines(base, ours, theirs) == ours.removesuffix(b"\r\n")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (BASE.replace(b"two", b"2"), BASE.replace(b"two", b"II")),
        (BASE.replace(b"two", b"2"), BASE + b"\0"),
        (b"", BASE.replace(b"two", b"2")),
    ],
    ids=["the same line", "a binary side", "a deleted line that the other side changed"],
)
def test_conflicts_raise_and_never_leave_markers(ours: bytes, theirs: bytes) -> None:
    with pytest.raises(MergeConflict):
        merge_lines(BASE, ours, theirs)
