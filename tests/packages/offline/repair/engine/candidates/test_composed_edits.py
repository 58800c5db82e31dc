"""Changes made one after the other come to the same as the edits that they are composed to."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.offline.repair.engine.candidates.composed_edits import Edit, compose_edits
from packages.offline.repair.templates import Change


@st.composite
def chains(draw: st.DrawFn) -> tuple[str, list[tuple[str, str, Change]], str]:
    """A text, up to five changes of it one after the other, and what they leave of it."""
    first = text = draw(st.text("abc\n", max_size=30))
    changes = []
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 6)))
        change = Change(start=start, end=end, text=draw(st.text("xyz", max_size=4)), why="")
        changes.append(("a.py", text, change))
        text = text[:start] + change.text + text[end:]
    return first, changes, text


def applied(text: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


@pytest.mark.slow
@given(chains())
def test_the_edits_come_to_the_same_text_and_never_touch(
    chain: tuple[str, list[tuple[str, str, Change]], str],
) -> None:
    before, changes, after = chain
    edits = compose_edits(changes)
    assert applied(before, edits) == after
    assert all(one.end < other.start for one, other in itertools.pairwise(edits))


def test_changes_of_several_files_stay_apart() -> None:
    change = Change(start=1, end=2, text="xx", why="")
    edits = compose_edits([("b.py", "abc", change), ("a.py", "abc", change), ("b.py", "axxc", change)])
    assert edits == [
        Edit(path="a.py", start=1, end=2, text="xx"),
        Edit(path="b.py", start=1, end=2, text="xxx"),
    ]
