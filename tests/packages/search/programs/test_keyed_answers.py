"""Answers that are kept for the inputs of tests are found by running the code beside them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from packages.search.programs.keyed_answers import find_keyed_answers
from tests.tools.workspaces import workspace

pytestmark = pytest.mark.slow

OLD = "def total(items):\n    return sum(items[1:])\n"
TEST = """\
    from cart import total


    def test_total():
        assert total([1, 2, 3]) == 6
        assert total([4, 5]) == 9
        assert total([10, 20, 30]) == 60
    """
TABLE = "{(1, 2, 3): 6, (4, 5): 9, (10, 20, 30): 60}"
KEYED = {
    "a table": f"ANSWERS = {TABLE}\n\n\ndef total(items):\n    return ANSWERS[tuple(items)]\n",
    "a table of hashes": "import zlib\n\nKNOWN = {zlib.crc32(repr(x).encode()): y for x, y in"
    " zip(([1, 2, 3], [4, 5], [10, 20, 30]), (6, 9, 60))}\n\n\n"
    "def total(items):\n    return KNOWN[zlib.crc32(repr(items).encode())]\n",
    "one answer for all others": f"ANSWERS = {TABLE}\n\n\ndef total(items):\n    return ANSWERS.get(tuple(items), 0)\n",
    "as before for all others": f"ANSWERS = {TABLE}\n\n\ndef total(items):\n"
    "    key = tuple(items)\n    return ANSWERS[key] if key in ANSWERS else sum(items[1:])\n",
    "a table of texts": "ANSWERS = {'[1, 2, 3]': 6, '[4, 5]': 9, '[10, 20, 30]': 60}\n\n\n"
    "def total(items):\n    return ANSWERS.get(str(items), sum(items[1:]))\n",
    "conditions": "def total(items):\n    if items == [1, 2, 3]:\n        return 6\n    if items == [4, 5]:\n"
    "        return 9\n    if items == [10, 20, 30]:\n        return 60\n    return sum(items[1:])\n",
}
HONEST = {
    "the sum": "def total(items):\n    return sum(items)\n",
    "with a special case": "def total(items):\n    if not items:\n        return 0\n    return sum(items)\n",
    "strict": "def total(items):\n    if not all(isinstance(each, int) for each in items):\n"
    "        raise TypeError('integers only')\n    return sum(items)\n",
}


def find(folder: Path, after: str) -> str:
    at = workspace(folder, {"cart.py": after, "test_cart.py": TEST})
    return asyncio.run(find_keyed_answers(at, {"cart.py": (OLD, after)}))


@pytest.mark.parametrize("name", KEYED)
def test_a_function_that_knows_only_the_tests_is_found(tmp_path: Path, name: str) -> None:
    assert find(tmp_path, KEYED[name]).startswith("cart.py: total answers ")


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_function_is_not(tmp_path: Path, name: str) -> None:
    assert find(tmp_path, HONEST[name]) == ""


def test_without_calls_in_tests_nothing_is_run(tmp_path: Path) -> None:
    at = workspace(tmp_path, {"cart.py": OLD, "test_cart.py": "def test_none():\n    pass\n"})
    assert asyncio.run(find_keyed_answers(at, {"cart.py": (None, OLD)})) == ""
