"""How many results a test checks, as its text shows."""

from __future__ import annotations

import pytest

from packages.offline.repair.localize.test_checks import SEVERAL, count_checks

FILE = """\
import unittest

import pytest

def check(candidate):
    assert candidate(1) == 2
    assert candidate(2) == 3

def test_one():
    assert inc(1) == 2

def test_by_helper():
    check(inc)

@pytest.mark.parametrize("n", [1, 2])
def test_loop(n):
    for each in range(n):
        assert inc(each) == each + 1

def test_all():
    assert all(inc(n) == n + 1 for n in range(9))

def test_refused():
    with pytest.raises(TypeError):
        inc("a")

def test_by_output(capsys):
    print(inc(1))

class TestInc(unittest.TestCase):
    def test_method(self):
        self.assertEqual(inc(1), 2)
        self.assertTrue(inc(1))
"""


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["test_a.py::test_one"], 1),
        (["test_a.py::test_one", "test_a.py::test_refused"], 2),
        (["test_a.py::test_by_helper"], 2),
        (["test_a.py::test_loop[1]"], SEVERAL),
        (["test_a.py::test_all"], SEVERAL),
        (["test_a.py::TestInc::test_method"], 2),
        (["test_a.py::test_by_output"], None),
        (["test_a.py::test_gone"], None),
    ],
)
def test_results_that_are_checked(names: list[str], expected: int | None) -> None:
    assert count_checks(FILE, names) == expected


def test_a_file_that_does_not_parse_tells_nothing() -> None:
    assert count_checks("def test_a(:\n", ["test_a.py::test_a"]) is None
