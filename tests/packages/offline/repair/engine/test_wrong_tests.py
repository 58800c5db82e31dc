"""Tests that are wrong themselves: nothing is changed for them, and the doubt is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from packages.offline.repair.engine import patch_search
from packages.offline.repair.result import Outcome
from tests.packages.offline.repair.engine.searches import run

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


def test_a_test_that_is_wrong_itself_is_said_to_be_in_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search goes to its end; that of two changes at once, which takes a minute, only under stress."""
    if "PATCHWRIGHT_STRESS" not in os.environ:
        monkeypatch.setattr(patch_search, "FEW_TESTS", 6)
    files = {
        "words.py": "def same(word):\n    return word\n",
        "test_words.py": "from words import same\n\n\ndef test_one():\n    assert same('a') == 'a'\n\n\n"
        "def test_two():\n    assert same('b c') == 'b c'\n\n\ndef test_none():\n    assert same('') == ''\n\n\n"
        "def test_more():\n    assert same('d' * 9) == 'd' * 9\n\n\ndef test_wrong():\n    assert same('f') == 'g'\n",
    }
    result = run(tmp_path, files, budget=150)
    assert result.outcome is Outcome.TEST_IN_DOUBT
    assert "test_words.py::test_wrong" in result.reason
    assert "'f' == 'g'" in result.reason
    assert not result.fixes
