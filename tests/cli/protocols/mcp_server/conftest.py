"""A repository with a bug, and a server of it in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repo import Repo

CART = """\
def total(prices):
    result = 0
    for price in prices[1:]:
        result += price
    return result


def average(prices):
    return total(prices) / len(prices)
"""

TESTS = """\
from cart import average, total


def test_total():
    assert total([1, 2, 3]) == 6


def test_average():
    assert average([2, 4]) == 3


def test_empty():
    assert total([]) == 0
"""


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    """A repository whose tests fail by one bug."""
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write("test_cart.py", TESTS)
    repo.commit_all("Add cart")
    return repo
