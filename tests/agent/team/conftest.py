"""A small repository with code, a test and a requirement."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import git

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
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "cart.py").write_text(CART)
    (folder / "test_cart.py").write_text(
        "from cart import Cart\n\n\ndef test_total():\n    assert Cart([5]).total(0) == 5\n"
    )
    (folder / "REQUIREMENTS.md").write_text("The total is the sum of the items, with tax.\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder
