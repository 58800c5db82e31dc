"""A simulated weak model mends what it would mend in perfect form; the whole suite is benchmarks/weak_models.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.weak_models import run_bug
from tests.support.small_bugs import BUGS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize(("name", "seed"), [("totals", 1), ("words", 0)])
def test_seven_of_ten_replies_may_be_spoiled(name: str, seed: int, tmp_path: Path) -> None:
    bug = next(each for each in BUGS if each.name == name)
    found = run_bug(bug, tmp_path, seed, rate=0.7)
    assert found.outcome == "done"
    assert len(found.faults) >= 2, "it was spoiled indeed"


def test_a_model_that_only_writes_prose_is_led(tmp_path: Path) -> None:
    bug = next(each for each in BUGS if each.name == "clamp")
    found = run_bug(bug, tmp_path, 0, rate=1.0, faults=("prose",), led_rate=0.0)
    assert found.outcome == "done"
    assert set(found.faults) == {"prose"}
