"""Functions that answer by their arguments alone are cut out of their module; others are not."""

from __future__ import annotations

import ast

import pytest

from packages.search.programs.plain_functions import extract_plain_function

MODULE = """\
import math
import re
from datetime import datetime
from shop.tax import rate

RATES = {"de": 19}
WORD = re.compile("[a-z]+")
CACHE = {}


def total(items: "list[Item]", start: int = 0) -> float:
    found: list[float] = []
    for each in items:
        found.append(_round(each))
    return sum(found) + start


def _round(value):
    return math.floor(value * 100) / 100


def add_tax(items, land): return total(items) * RATES[land]


def words(text): return WORD.findall(text)


def stamp_total(items): return total(items), datetime.now()


def foreign(items): return rate(items)


def keep_items(items):
    global CACHE
    CACHE = items
    return items


def deep(item): return item.__class__


def walk(items):
    yield from items


def given(items): return [each for each in CACHE if each in items]


CACHE["x"] = 1


@property
def made(items): return items


def shown(path): return open(path)


def empty(): return 1


if __name__ == "__main__":
    print(total([1]))
"""


@pytest.mark.parametrize(
    ("name", "needs"),
    [("total", {"math", "_round", "total"}), ("add_tax", {"RATES", "add_tax"}), ("words", {"WORD", "words"})],
)
def test_a_plain_function_brings_what_it_needs(name: str, needs: set[str]) -> None:
    source = extract_plain_function(MODULE, name)
    assert source is not None
    assert all(each in source for each in needs)
    assert "datetime" not in source
    space: dict[str, object] = {}
    exec(compile(ast.parse(source), "plain", "exec"), space)
    assert name in space


@pytest.mark.parametrize(
    "name",
    ["stamp_total", "foreign", "keep_items", "deep", "walk", "given", "made", "shown", "empty", "absent"],
)
def test_another_function_is_left(name: str) -> None:
    assert extract_plain_function(MODULE, name) is None


def test_a_text_that_cannot_be_parsed_has_none() -> None:
    assert extract_plain_function("def total(:", "total") is None


def test_a_function_of_hundreds_of_terms_is_none() -> None:
    assert extract_plain_function(f"def f(x): return {' + '.join(['x'] * 1_400)}\n", "f") is None
