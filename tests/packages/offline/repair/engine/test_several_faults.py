"""Several faults in one project: beside one another, and one hidden by another."""

from __future__ import annotations

from pathlib import Path

import pytest

from packages.offline.repair.result import Outcome
from tests.packages.offline.repair.engine.searches import applied, run

# Each repairs a project with real test runs, which a busy machine may make slow.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


SHOP = {
    "cart.py": """\
        # Grüße: a line that is longer in bytes than in characters
        FREE = 100


        def shipping(total):
            label = "für"; fee = 5 if total <= FREE else 0  # keep this comment
            return fee


        def last(items):
            return items[len(items)]
        """,
    "names.py": """\
        def greet(person):
            return "hello " + persn


        def share(part, whole):
            return whole / part
        """,
    "test_shop.py": """\
        from cart import last, shipping
        from names import greet, share


        def test_small_orders_pay():
            assert shipping(99) == 5


        def test_from_the_limit_on_it_is_free():
            assert shipping(100) == 0


        def test_large_orders_are_free():
            assert shipping(101) == 0


        def test_last():
            assert last([1, 2, 3]) == 3
            assert last(["a"]) == "a"


        def test_greet():
            assert greet("Ann") == "hello Ann"


        def test_share():
            assert share(1, 4) == 0.25


        def test_share_of_the_whole():
            assert share(3, 3) == 1
        """,
}


def test_several_independent_bugs_are_fixed_one_after_the_other(tmp_path: Path) -> None:
    result = run(tmp_path, SHOP, budget=180)
    assert result.outcome is Outcome.FIXED
    assert {fix.path for fix in result.fixes} == {"cart.py", "names.py"}
    assert len(result.fixes) == len(result.failing) == 4
    applied(tmp_path / "work", result.fixes)
    text = (tmp_path / "work" / "cart.py").read_text("utf-8")
    assert 'label = "für"; fee = 5 if total < FREE else 0  # keep this comment' in text
    assert "return items[len(items) - 1]" in text or "return items[-1]" in text
    names = (tmp_path / "work" / "names.py").read_text("utf-8")
    assert '"hello " + person' in names
    assert "return part / whole" in names


def test_two_faults_that_hide_one_another_are_fixed_together(tmp_path: Path) -> None:
    files = {
        "both.py": "def both(a, b):\n    c = a - b\n    return c * 3\n",
        "test_both.py": "import pytest\nfrom both import both\n\n\n@pytest.mark.parametrize('a, b', "
        "[(1, 2), (5, 7), (2, 2), (10, 3)])\ndef test_both(a, b):\n    assert both(a, b) == 2 * (a + b)\n",
    }
    result = run(tmp_path, files, budget=180)
    assert result.outcome is Outcome.FIXED
    applied(tmp_path / "work", result.fixes)
    text = (tmp_path / "work" / "both.py").read_text("utf-8")
    assert text == "def both(a, b):\n    c = a + b\n    return c * 2\n"


def test_a_second_fault_that_no_test_reaches_before_the_first_is_mended_is_found_too(tmp_path: Path) -> None:
    files = {
        "runs.py": "def longest(values):\n    best = count = 0\n    before = None\n    for value in vales:\n"
        "        count = count + 1 if value == before else 0\n        before = value\n"
        "        best = max(best, count)\n    return best\n",
        "test_runs.py": "import pytest\nfrom runs import longest\n\n\n@pytest.mark.parametrize('values, expected', "
        "[([1], 1), ([1, 1, 2], 2), ([3, 1, 1, 1, 2, 2], 3), ([], 0)])\n"
        "def test_longest(values, expected):\n    assert longest(values) == expected\n",
    }
    result = run(tmp_path, files, budget=180)
    assert result.outcome is Outcome.FIXED
    applied(tmp_path / "work", result.fixes)
    text = (tmp_path / "work" / "runs.py").read_text("utf-8")
    assert "in values:" in text
    assert "if value == before else 1" in text


def test_three_faults_that_hide_one_another_are_mended_one_on_top_of_the_other(tmp_path: Path) -> None:
    program = (
        "def flights(bookings, n):\n    seats = [0] * (n + 1)\n    for first, last, count in bookings:\n"
        "        seats[{index}] += count\n        seats[last] -= count\n    found = []\n    taken = 0\n"
        "    for each in seats[:-1]{rest}:\n        taken += each\n        found.append(taken)\n    return found\n"
    )
    cases = [
        ([[1, 2, 10]], 3, [10, 10, 0]),
        ([[1, 2, 10], [2, 3, 20]], 4, [10, 30, 20, 0]),
        ([[2, 2, 5]], 2, [0, 5]),
        ([[1, 4, 1], [3, 4, 2], [4, 4, 4]], 4, [1, 1, 3, 7]),
    ]
    tests = (
        f"def test_{place}():\n    assert flights({bookings}, {n}) == {found}\n"
        for place, (bookings, n, found) in enumerate(cases)
    )
    files = {
        "plane.py": program.format(index="x", rest=" + 1"),
        "test_plane.py": "\n\n".join(["from plane import flights\n", *tests]),
    }
    result = run(tmp_path, files, budget=150)
    assert result.outcome is Outcome.FIXED
    text = files["plane.py"]
    for fix in result.fixes:
        text = text.replace(fix.old, fix.new)
    assert text == program.format(index="first - 1", rest="")
