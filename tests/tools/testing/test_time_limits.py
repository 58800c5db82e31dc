"""A run of the tests ends before the turn has to: what it has found is recorded, and time is left to mend it."""

from __future__ import annotations

import math

import pytest

from tests.tools.testing.projects import Make, project, run
from tools.testing.suite_run import compute_time_limit

__all__ = ["project"]


@pytest.mark.parametrize(
    ("left", "is_changed", "beside", "expected"),
    [
        (math.inf, False, False, 600.0),
        (3600.0, False, False, 600.0),
        (61.0, False, False, 20.0),
        (41.0, True, False, 40.0),
        (41.0, False, True, 40.0),
        (0.5, True, False, 1.0),
    ],
)
def test_a_run_leaves_time_in_the_turn(
    left: float, is_changed: bool, beside: bool, expected: float, project: Make
) -> None:
    at = project({"cart.py": "x = 1\n"})
    at.seconds_left = lambda: left
    if is_changed:
        at.changes.originals["cart.py"] = b"x = 2\n"
    assert compute_time_limit(at, beside=beside) == expected


@pytest.mark.slow
def test_a_run_that_the_turn_has_no_time_for_is_reported_as_such(project: Make) -> None:
    at = project({"test_a.py": "import time\n\ndef test_long():\n    time.sleep(60)\n"})
    at.seconds_left = lambda: 10.0
    observation, report = run(at)
    assert observation.failed
    assert report.outcome == "timeout"
    assert "killed after 3 s, since the turn is short of time (--max-time)" in report.note
