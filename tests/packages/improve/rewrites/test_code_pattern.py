"""Patterns of code: names and expressions are found, the same ones have to be equal, all else is meant literally."""

from __future__ import annotations

import ast

import pytest

from packages.improve.rewrites.code_pattern import match_code


def match(code: str, pattern: str) -> dict[str, str] | None:
    """Return what is found in a statement, as texts."""
    found = match_code(ast.parse(code).body[0], pattern)
    if found is None:
        return None
    return {key: each if isinstance(each, str) else ast.unparse(each) for key, each in vars(found).items()}


@pytest.mark.parametrize(
    ("code", "pattern", "found"),
    [
        ("sum(rows[1:n + 2])", "sum(_items[_LOWER:_UPPER])", {"items": "rows", "lower": "1", "upper": "n + 2"}),
        ("sum(rows()[1:])", "sum(_items[_LOWER:])", None),
        ("sum(rows[1:], 0)", "sum(_items[_LOWER:])", None),
        ("sum(rows[:])", "sum(_items[_LOWER:])", None),
        ("x = x + [y.z]", "_items = _items + [_ITEM]", {"items": "x", "item": "y.z"}),
        ("x = w + [y]", "_items = _items + [_ITEM]", None),
        ("x = x + [*y]", "_items = _items + [_ITEM]", None),
        ("while a.b in c: c.remove(a.b)", "while _X in _items:\n    _items.remove(_X)", {"x": "a.b", "items": "c"}),
        ("while a in c: c.remove(b)", "while _X in _items:\n    _items.remove(_X)", None),
        ("while a in c:\n c.remove(a)\nelse: pass", "while _X in _items:\n    _items.remove(_X)", None),
        ("f(True)", "f(1)", None),
        ("min(x for x in xs)", "min([_x for _x in _xs])", None),
    ],
)  # fmt: skip
def test_a_pattern_finds_what_its_names_stand_for(
    code: str, pattern: str, found: dict[str, str] | None
) -> None:
    assert match(code, pattern) == found
