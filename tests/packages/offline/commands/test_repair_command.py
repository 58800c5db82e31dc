"""`patchwright localize` and `patchwright repair`: real processes on small projects, no model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

CART = """\
def total(prices, discount=0):
    result = 0
    for price in prices:
        result = price
    return result - discount
"""
TESTS = """\
from cart import total


def test_empty():
    assert total([]) == 0


def test_several():
    assert total([1, 2, 3]) == 6


def test_discount():
    assert total([5, 5], discount=3) == 7
"""


def project(folder: Path, cart: str = CART, tests: str = TESTS) -> Path:
    root = folder / "shop"
    root.mkdir()
    (root / "cart.py").write_text(cart)
    (root / "test_cart.py").write_text(tests)
    return root


def test_the_suspicious_lines_are_listed_with_their_code(tmp_path: Path) -> None:
    root = project(tmp_path)
    result = run("localize", "--tests", "all", "-C", root, cwd=tmp_path)
    assert result.code == 0
    first = result.out.splitlines()[2]
    assert first.split() == ["1.00", "cart.py:4", "result", "=", "price", "(2", "failing,", "0", "passing)"]
    assert (root / "cart.py").read_text() == CART


def test_a_change_is_found_and_applied_and_nothing_else_is_written(tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / "cart.py").write_bytes(CART.replace("\n", "\r\n").encode())
    result = run("repair", "-C", root, "--budget", "2m", cwd=tmp_path, timeout=170)
    assert result.code == 0, result.out + result.err
    assert "confidence: " in result.out
    assert "applied, not committed" in result.out
    expected = CART.replace("result = price", "result += price").replace("\n", "\r\n")
    assert (root / "cart.py").read_bytes() == expected.encode()
    assert sorted(each.name for each in root.iterdir()) == ["cart.py", "test_cart.py"]
    again = run("repair", "-C", root, cwd=tmp_path)
    assert (again.code, again.out) == (3, "all-pass: all tests pass\n")


def test_changes_can_be_looked_at_only_and_be_limited_to_some_tests(tmp_path: Path) -> None:
    broken = TESTS + "\n\ndef test_other():\n    assert total([2]) == 'two'\n"
    root = project(tmp_path, tests=broken)
    arguments = ("repair", "-C", root, "--no-apply", "--json", "--budget", "120")
    result = run(*arguments, "--tests", "test_cart.py::test_several", cwd=tmp_path, timeout=170)
    assert result.code == 0, result.out + result.err
    data = json.loads(result.out)
    assert (data["outcome"], data["applied"]) == ("fixed", False)
    assert data["failing"] == ["test_cart.py::test_several"]
    assert data["fixes"][0]["new"].strip() == "result += price"
    assert 0 < data["fixes"][0]["confidence"] <= 1
    assert (root / "cart.py").read_text() == CART


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--budget", "soon"), 2, "--budget 'soon' is not a time from 1s to 1h"),
        (("--budget", "2h"), 2, "not a time from 1s to 1h"),
        (("-C", "nowhere"), 2, "no such folder: 'nowhere'"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(
    tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    result = run("repair", *arguments, cwd=tmp_path)
    assert result.code == code
    assert said in result.err
    assert "Traceback" not in result.err


def test_a_folder_without_tests_is_told_from_one_whose_tests_pass(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    result = run("repair", cwd=tmp_path)
    assert result.code == 10
    assert result.out.startswith("no-tests: no tests were found")
