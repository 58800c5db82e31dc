"""Which part of a file the heads of a hunk leave to look in."""

from __future__ import annotations

from tools.edit.match.hunk_scope import find_scopes
from tools.edit.match.matchers import Source

SHOP = Source(
    "class Cart:\n    def total(self):\n        a\n\nclass Order:\n    def total(self):\n        b\nend\n"
)


def test_without_heads_everything_is_allowed() -> None:
    assert find_scopes(SHOP, ()) is None
    assert find_scopes(SHOP, ("  ",)) is None


def test_a_head_leaves_its_block() -> None:
    assert find_scopes(SHOP, ("class Order:",)) == [(5, 7)]


def test_each_head_is_looked_for_within_the_one_before() -> None:
    assert find_scopes(SHOP, ("def total(self):",)) == [(2, 3), (6, 7)]
    assert find_scopes(SHOP, ("class Order:", "def total(self):")) == [(6, 7)]


def test_a_head_may_be_given_by_its_beginning() -> None:
    assert find_scopes(SHOP, ("class Order", "def total")) == [(6, 7)]


def test_a_head_that_is_not_there_leaves_nothing() -> None:
    assert find_scopes(SHOP, ("class Basket:",)) == []


def test_a_head_without_a_block_leaves_the_rest() -> None:
    assert find_scopes(Source("# one\na\n# two\nb\n"), ("# one",)) == [(1, 4)]
