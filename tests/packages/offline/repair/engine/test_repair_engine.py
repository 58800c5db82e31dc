"""The repair engine on small real projects: real pytest, real sandbox, nothing written to the workspace."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from packages.offline.repair.engine.repair_engine import localize_faults
from packages.offline.repair.result import Outcome
from tests.packages.offline.repair.engine.searches import run
from tests.tools.workspaces import workspace

# Each repairs a project with real test runs, which a busy machine may make slow.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def test_the_same_failures_get_the_same_fix_in_every_run(tmp_path: Path) -> None:
    files = {
        "low.py": "def low(values):\n    best = 0\n    for value in values:\n"
        "        if value > best:\n            best = value\n    return best\n",
        "test_low.py": "from low import low\n\n\ndef test_low():\n    assert low([3, 7, 5]) == 7\n\n\n"
        "def test_negative():\n    assert low([-3]) == -3\n",
    }
    found = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        result = run(tmp_path / name, files, budget=100)
        found.append([(fix.path, fix.old, fix.new) for fix in result.fixes])
    assert found[0] == found[1]


def test_unittest_projects_are_repaired_by_their_dotted_names_too(tmp_path: Path) -> None:
    files = {
        "stack.py": "class Stack:\n    def __init__(self):\n        self.items = []\n\n"
        "    def push(self, item):\n        self.items.append(item)\n\n"
        "    def pop(self):\n        return self.items.pop(0)\n\n"
        "    def __len__(self):\n        return len(self.items)\n",
        "test_stack.py": "import unittest\n\nfrom stack import Stack\n\n\nclass StackTest(unittest.TestCase):\n"
        "    def setUp(self):\n        self.stack = Stack()\n\n"
        "    def test_last_in_first_out(self):\n        self.stack.push(1)\n        self.stack.push(2)\n"
        "        self.stack.push(3)\n"
        "        self.assertEqual(self.stack.pop(), 3)\n        self.assertEqual(self.stack.pop(), 2)\n\n"
        "    def test_length(self):\n        self.stack.push(1)\n        self.assertEqual(len(self.stack), 1)\n",
    }
    result = run(tmp_path, files, targets=("test_stack.StackTest.test_last_in_first_out",))
    assert result.outcome is Outcome.FIXED
    assert result.fixes[0].function == "Stack.pop"
    (tmp_path / "again").mkdir()
    _, spectrum = asyncio.run(localize_faults(workspace(tmp_path / "again", files), (), 120.0))
    (failing,) = spectrum.select_tests("failed")
    assert (failing.error, failing.message) == ("AssertionError", "1 != 3")
    assert failing.frames[-1].path == "test_stack.py"
