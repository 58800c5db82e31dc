"""A small repository with code, a test and a requirement."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repo import Repo

CART = '''"""The cart."""

RATE = 0.2


class Cart:
    """What a customer wants to buy."""

    def __init__(self, items: list[int]) -> None:
        self.items = items

    def total(self, rate: float = RATE) -> float:
        """Return the total with tax."""
        secret_sum = sum(self.items)
        return secret_sum * (1 + rate)
'''


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write(
        "test_cart.py", "from cart import Cart\n\n\ndef test_total():\n    assert Cart([5]).total(0) == 5\n"
    )
    repo.write("REQUIREMENTS.md", "The total is the sum of the items, with tax.\n")
    repo.commit_all("Start")
    return repo.root
