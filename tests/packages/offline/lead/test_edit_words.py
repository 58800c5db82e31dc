"""Words for the edits of a led turn: what goes and what comes, and no empty quotation where a line is new or gone."""

from __future__ import annotations

import pytest

from packages.offline.lead.edit_words import list_edits


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("a = 1\n", "a = 2\n", "- m.py: `a = 1` becomes `a = 2`"),
        ("a = 1\n", "a = 1\nb = 2\n", "- m.py: adds `b = 2`"),
        ("a = 1\nb = 2\n", "a = 1\n", "- m.py: removes `b = 2`"),
        ("", "    for x in y:\n        pass\n", "- m.py: adds `for x in y:`"),
    ],
)
def test_an_edit_is_told_by_its_first_lines(old: str, new: str, words: str) -> None:
    assert list_edits([{"path": "m.py", "old": old, "new": new}]) == words
