"""Which tests a change may break: by imports, whatever the detours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.workspaces import put
from tools.testing.affected_tests import find_affected_tests

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "from .money import Money\n",
    "src/shop/money.py": "class Money: ...\n",
    "src/shop/order.py": "def order():\n    from shop import cart\n",
    "src/shop/alone.py": "",
    "tests/test_cart.py": "from shop.cart import Cart\n",
    "tests/test_order.py": "import shop.order as o\n",
    "tests/test_other.py": "import os\n",
    "tests/test_gone.py": "from shop import gone\n",
    "web/tests.py": "import shop.web\n",
    "more/conftest.py": "import shop.fixed\n",
    "src/shop/fixed.py": "",
    "src/shop/web.py": "",
    "broken.py": "def (:\n",
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (["src/shop/money.py"], ["tests/test_cart.py", "tests/test_order.py"]),
        (["src/shop/order.py"], ["tests/test_order.py"]),
        (["tests/test_other.py"], ["tests/test_other.py"]),
        (["tests/test_deleted.py", "src/shop/alone.py"], []),
        (["README.md"], []),
        (["README.md", "src/shop/order.py"], ["tests/test_order.py"]),
        (["src/shop/gone.py"], ["tests/test_gone.py"]),
        (["src/shop/fixed.py"], None),
        (["src/shop/web.py"], ["web/tests.py"]),
        (["data.json"], None),
        (["tests/conftest.py"], None),
        (["pyproject.toml"], None),
    ],
)
def test_tests_are_found_by_what_they_import(
    tmp_path: Path, changed: list[str], expected: list[str] | None
) -> None:
    put(tmp_path, FILES)
    assert find_affected_tests(tmp_path, list(FILES), changed) == expected
