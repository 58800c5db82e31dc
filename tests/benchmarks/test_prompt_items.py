"""The count of recognised items, and the marks of the prompts."""

from __future__ import annotations

import json

import pytest

from benchmarks.verification.prompt_items import MARKS, count_items, find_items, is_same


def test_a_recognised_item_takes_one_mark_and_the_rest_is_beside() -> None:
    found = ["renamed a -> b", "tested", "name-gone c"]
    assert count_items(found, ["tested x", "renamed a -> b", "file-changed d.py"]) == (
        ["tested x", "renamed a -> b"], ["file-changed d.py"], ["name-gone c"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "mark", "same"),
    [
        ("file-changed src/CHANGELOG.md", "file-changed changelog", True),
        ("file-changed utils.py", "file-changed security/utils.py", True),
        ("file-changed utils.py", "file-gone utils.py", False),
        ("name-exists cart.py:total", "name-exists total", True),
        ("result f([1,2]) == 3", "result f([1, 2]) == 3", True),
        ("result f([1, 2]) == 4", "result f([1, 2]) == 3", False),
    ],
)
def test_same_items(found: str, mark: str, same: bool) -> None:
    assert is_same(found, mark) is same


def test_items_are_what_the_requirements_are() -> None:
    assert find_items("rename average to mean") == ["renamed average -> mean"]


def test_each_prompt_is_marked_once() -> None:
    rows = [json.loads(line) for line in MARKS.read_text(encoding="utf-8").splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) >= 300
    assert all(("items" in row) == (row["half"] != "unmarked") for row in rows)
