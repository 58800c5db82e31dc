"""A run of the suite is worse than one before it where tests neither pass nor fail any more."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from agent.verify.suite_evidence import judge_report
from tests.tools.workspaces import workspace
from tools.testing import run
from tools.testing.run_comparison import count_lost_tests, describe_loss, list_lost_tests

pytestmark = pytest.mark.slow


def report(passed: int, failed: int = 0, skipped: int = 0, **more: Any) -> dict[str, Any]:
    outcome = "failed" if failed else "passed" if passed else "no-tests"
    failures = [{"id": f"t{number}"} for number in range(failed)]
    counts = {"passed": passed, "failed": failed, "skipped": skipped, "failures": failures}
    return {"runner": "pytest", "outcome": outcome, **counts, **more}


def failing(*names: str) -> dict[str, Any]:
    return {**report(0, len(names)), "failures": [{"id": name} for name in names]}


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (report(2, 1), report(3), 0),
        (report(2, 1), report(1, 0, 2), 2),
        (report(2, 1), report(2, 0, 1), 1),
        (report(2, 1), report(2), 1),
        (report(2, 0, 1), report(3), 0),
        (report(2), report(5, 0, 1), 0),
        (report(2), report(0, 0, 2), 2),
        (report(2), report(1, counted=False), 0),
        (report(2), report(1, runner="jest"), 0),
        (report(2), report(1, targets=["a.py"]), 0),
        (report(2), report(1, outcome="broken"), 0),
        (report(2), report(1, 0, 0, xfailed=1), 1),
        (report(0, 1), report(0, 0, 0, xpassed=1, outcome="passed"), 1),
        # New tests hide none that is skipped, where tests are named.
        (
            report(1, 1, passed_tests=["a"], skipped_tests=["s"]),
            report(3, 0, 3, passed_tests=["b", "c", "d"], skipped_tests=["s", "a", "t0"]),
            2,
        ),
        (report(1, passed_tests=["a"]), report(1, 0, 1, passed_tests=["a"], skipped_tests=["new"]), 0),
        (report(1, passed_tests=["a[0x1]"]), report(1, passed_tests=["a[0x2]"]), 0),
        # One test that fails more than once is one, and what fails around tests is none.
        (failing("T.a (i=1)", "T.a (i=2)"), report(1), 0),
        (failing("a.py::b", "a.py::b"), report(1), 0),
        (failing("T.a", "a.T.tearDownClass"), report(1), 0),
        # One test that passes, but in its teardown or a subtest, is one as well.
        (report(1, 1, collected=1), report(1, collected=1), 0),
        (report(2, 3, collected=2), report(2, collected=2), 0),
        (report(2, 3, collected=2), report(1, 0, 1, collected=2), 1),
    ],
)
def test_lost_tests_are_counted(before: dict[str, Any], after: dict[str, Any], lost: int) -> None:
    assert count_lost_tests(before, after) == lost
    assert bool(describe_loss(before, after)) == bool(lost)


def test_a_suite_that_passes_by_skipping_is_no_pass() -> None:
    before = report(2, 1)
    assert judge_report(report(1, 0, 2), before).outcome == "failed"
    assert judge_report(report(0, 0, 3), before).outcome == "failed"
    assert judge_report(report(3), before).outcome == "passed"
    assert judge_report(report(1, 0, 2), None).detail == "1 passed, 2 skipped"
    assert judge_report(report(1, xfailed=1, xpassed=2, deselected=3), None).detail == (
        "1 passed, 1 xfailed, 2 xpassed, 3 deselected"
    )
    allowed = judge_report(report(2), before, may_lose_tests=True)
    assert (allowed.outcome, "skipped or gone" in allowed.detail) == ("passed", True)


def test_a_run_says_what_it_lost_since_the_one_before(tmp_path: Path) -> None:
    test = (
        "import flags, pytest\n\n\n@pytest.mark.skipif(not flags.ON, reason='off')\ndef test_a():\n    pass\n"
    )
    at = workspace(
        tmp_path, {"flags.py": "ON = True\n", "test_a.py": test, "test_b.py": "def test_b():\n    pass\n"}
    )
    assert "skipped or gone" not in asyncio.run(run(at)).format_text()
    (at.root / "flags.py").write_text("ON = False\n")
    part = asyncio.run(run(at, ["test_b.py"]))
    assert (part.as_data()["targets"], part.note) == (["test_b.py"], "")
    lost = asyncio.run(run(at))
    assert (lost.passed, lost.skipped) == (1, 1)
    assert "1 test that was run before is skipped or gone" in lost.format_text()
    assert "skipped or gone" not in asyncio.run(run(at)).note, "it is said once"


def test_a_test_that_fails_in_several_ways_is_lost_by_no_repair(tmp_path: Path) -> None:
    """It is one test that passes then, however often it was counted."""
    test = """\
        import unittest
        import pytest
        from flags import ON

        @pytest.fixture
        def taken_down():
            yield
            assert ON

        def test_twice(taken_down):
            assert ON

        class TestEach(unittest.TestCase):
            def test_each(self):
                for each in range(3):
                    with self.subTest(each=each):
                        self.assertTrue(ON)
        """
    at = workspace(tmp_path, {"flags.py": "ON = False\n", "test_a.py": test})
    before = asyncio.run(run(at))
    (at.root / "flags.py").write_text("ON = True\n")
    after = asyncio.run(run(at))
    assert (before.outcome, after.outcome, after.note) == ("failed", "passed", "")
    assert judge_report(after.as_data(), before.as_data()).outcome == "passed"


def test_a_large_suite_in_a_moved_file_is_compared_at_once() -> None:
    names = [f"test_{number}" for number in range(4000)]
    started = time.monotonic()
    lost = list_lost_tests(
        [f"a.py::{name}" for name in names], [f"b.py::{name}" for name in reversed(names[1:])]
    )
    assert lost == ["a.py::test_0"]
    assert time.monotonic() - started < 2
