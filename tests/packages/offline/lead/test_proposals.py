"""Proposals in replies of weak models: fenced or not, with line numbers, as diffs, with prose around them."""

from __future__ import annotations

import pytest

from packages.offline.lead.proposals import find_blocks, find_choice, find_syntax_error

TOTAL = "def total(prices):\n    return sum(prices)"


@pytest.mark.parametrize(
    "reply",
    [
        f"```python\n{TOTAL}\n```",
        f"Here it is:\n\n```\n{TOTAL}\n```\nIt adds them.",
        f"```py\n{TOTAL}",
        "```python\n1\tdef total(prices):\n2\t    return sum(prices)\n```",
        "```\n12: def total(prices):\n13:     return sum(prices)\n```",
        "```diff\n def total(prices):\n-    return sum(prices) + 1\n+    return sum(prices)\n```",
        f"{TOTAL}\nThis is right now.",
        "```python\n    def total(prices):\n        return sum(prices)\n```",
        f"~~~python\n{TOTAL}\n~~~",
    ],
)
def test_a_function_is_read_however_it_was_written(reply: str) -> None:
    [block] = find_blocks(reply)
    assert (block.name, block.code) == ("total", TOTAL)


def test_the_methods_of_a_class_are_proposals_of_their_own() -> None:
    blocks = find_blocks("```python\nclass Cart:\n    def total(self):\n        return 1\n    rate = 2\n```")
    assert [(each.name, each.code) for each in blocks] == [("Cart.total", "def total(self):\n    return 1")]


def test_lines_end_at_newlines_alone() -> None:
    text = 'def first():\n    return "a\x0cb\x1cc\u2028d"\n\n\ndef second():\n    return 2'
    for reply in (f"```python\n{text}\n```", f"```python\n{text}\n```".replace("\n", "\r\n")):
        assert [(each.name, each.code) for each in find_blocks(reply)] == [
            ("first", 'def first():\n    return "a\x0cb\x1cc\u2028d"'),
            ("second", "def second():\n    return 2"),
        ]


def test_lines_without_a_definition_have_no_name() -> None:
    [block] = find_blocks("```python\nreturn sum(prices)\n```")
    assert (block.name, block.code) == ("", "return sum(prices)")


def test_code_that_does_not_parse_is_kept_to_be_told_of() -> None:
    [block] = find_blocks("```python\ndef total(prices:\n    return 1\n```")
    assert block.name == "total"
    assert find_syntax_error(block.code).startswith("line 1: ")


@pytest.mark.parametrize("reply", ["", "The total is wrong.", "I would call sum."])
def test_prose_proposes_nothing(reply: str) -> None:
    assert find_blocks(reply) == []


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("2", 2),
        ("2.", 2),
        ("Number 1", 1),
        ("I choose 2", 2),
        ("**2**", 2),
        ("Option 3", None),
        ("0", None),
        ("def total(): return 2", None),
        ("2 + 2", None),
        ("The first thing to look at is what total does, 2 at a time, and why", None),
    ],
)
def test_a_short_reply_chooses_a_candidate(reply: str, expected: int | None) -> None:
    assert find_choice(reply, 2) == expected
