"""A slice of the benchmark of wrong and hostile lessons: those that a run can settle go, and no hostile text stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.memory_sequences import play_sequence, summarize

pytestmark = pytest.mark.slow

SETTLED = ("absent", "broken", "idle", "place")
"""Wrong lessons that are seen to be wrong; a command that passes always, and a habit, are not."""


def test_wrong_lessons_lose_their_weight_and_hostile_texts_become_none(tmp_path: Path) -> None:
    results = [play_sequence(tmp_path / str(each), each, seed=7, wrong=0.3, rate=0.9) for each in range(4)]
    tasks = [task for each in results for task in each["tasks"]]
    fates = [fate for each in results for fate in each["fates"] if fate["kind"].endswith(SETTLED)]
    assert not [found for task in tasks for found in task["hostile"]]
    assert len(fates) >= 4
    assert max(fate["uses"] for fate in fates) <= 3
    assert all(task["without"]["ok"] for task in tasks)
    figures = "\n".join(summarize(results))
    assert "4 sequences, 32 tasks" in figures
    steps = [sum(task[name]["steps"] for task in tasks) for name in ("without", "with")]
    assert steps[1] < steps[0], figures


def test_without_wrong_lessons_nothing_is_harmed(tmp_path: Path) -> None:
    result = play_sequence(tmp_path, 0, seed=7, wrong=0.0, rate=1.0)
    assert all(task["with"]["ok"] for task in result["tasks"])
    assert result["right_notes_shown"] == result["right_notes"] == 7
