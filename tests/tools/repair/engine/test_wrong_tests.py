"""Tests that are wrong themselves: nothing is changed for them, and the doubt is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.repair.engine.searches import run
from tools.repair.result import Outcome

# Each repairs a project with real test runs, which a busy machine may make slow.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def test_a_wrong_test_is_never_edited_and_the_suspicious_places_are_named(tmp_path: Path) -> None:
    files = {
        "add.py": "def add(a, b):\n    return a + b\n",
        "test_add.py": "from add import add\n\n\ndef test_right():\n    assert add(1, 2) == 3\n\n\n"
        "def test_more():\n    assert add(5, 7) == 12\n\n\n"
        "def test_wrong():\n    assert add(20, 22) == 'forty-two'\n",
    }
    result = run(tmp_path, files, budget=40)
    assert result.outcome is Outcome.NOT_FOUND
    assert result.fixes == ()
    assert [(s.path, s.line) for s in result.suspects] == [("add.py", 2)]
    assert result.left == ("test_add.py::test_wrong",)


def test_a_test_that_is_wrong_itself_is_said_to_be_in_doubt(tmp_path: Path) -> None:
    files = {
        "area.py": "def area(width, height):\n    return width * height\n",
        "test_area.py": "from area import area\n\n\ndef test_square():\n    assert area(3, 3) == 9\n\n\n"
        "def test_flat():\n    assert area(4, 0) == 0\n\n\ndef test_wide():\n    assert area(7, 2) == 14\n\n\n"
        "def test_high():\n    assert area(2, 5) == 10\n\n\ndef test_wrong():\n    assert area(6, 7) == 41\n",
    }
    result = run(tmp_path, files, budget=150)
    assert result.outcome is Outcome.TEST_IN_DOUBT
    assert "test_area.py::test_wrong" in result.reason
    assert "42 == 41" in result.reason
    assert not result.fixes
