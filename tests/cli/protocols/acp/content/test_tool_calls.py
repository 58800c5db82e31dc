"""Unified diffs as the old and new texts that clients show."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cli.protocols.acp.content.tool_calls import format_output, format_title, list_locations, split_diff
from tools.core.text import format_unified_diff

ROOT = Path("/shop")

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "-- x\n", "++ y\n", "\n", "last"]), max_size=30).map(
    "".join
)


def split(diff: str) -> list[tuple[str, str | None, str]]:
    return [(each.path, each.old_text, each.new_text) for each in split_diff(ROOT, diff)]  # type: ignore[union-attr]


def test_a_hunk_is_the_old_and_the_new_text_with_their_last_lines() -> None:
    assert split(format_unified_diff("a.py", "one\ntwo", "one\nthree\n")) == [
        ("/shop/a.py", "one\ntwo", "one\nthree\n")
    ]


def test_a_new_file_has_no_old_text_and_a_removed_one_its_own_name() -> None:
    both = format_unified_diff("new.py", "", "x\n") + format_unified_diff("old.py", "y\n", "")
    assert split(both) == [("/shop/new.py", None, "x\n"), ("/shop/old.py", "y\n", "")]


@given(TEXTS, TEXTS)
def test_every_hunk_is_in_its_files(old: str, new: str) -> None:
    """No line is lost or invented: what a hunk adds and removes is the difference of the files."""
    hunks = [(before or "", after) for _, before, after in split(format_unified_diff("a.py", old, new))]
    assert all(before in old and after in new for before, after in hunks)
    assert sum(len(after) - len(before) for before, after in hunks) == len(new) - len(old)
    assert (old == new) == (hunks == [])


def test_titles_places_and_outputs_are_safe_to_show() -> None:
    assert format_title("shell", {"command": "ls\x1b[2J\nrm x"}) == r"ls\x1b[2J …"
    assert format_title("read", {"path": "a" * 500}).endswith("…")
    [place] = list_locations(ROOT, {"path": "a.py", "start": 7})
    assert (place.path, place.line) == ("/shop/a.py", 7)
    [block] = format_output("```\n\x1b[31mred")
    assert block.content.text == "````console\n```\n\\x1b[31mred\n````"  # type: ignore[union-attr]
