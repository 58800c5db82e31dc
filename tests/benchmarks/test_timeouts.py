"""The measure of which trials time out: on recordings made for it, and the area under the curve."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.timeouts import REPOSITORY, Trial, estimate_limit, measure_area, read_trials
from tests.support.repo import Repo


def test_the_area_is_that_of_pairs() -> None:
    assert measure_area([(True, 3.0), (False, 1.0), (False, 2.0)]) == 1.0
    assert measure_area([(True, 1.0), (False, 1.0)]) == 0.5
    assert measure_area([(True, 1.0), (False, 2.0), (True, 3.0), (False, 0.0)]) == 0.75


def test_the_first_half_of_a_recording_is_read(tmp_path: Path) -> None:
    repo = Repo(tmp_path / REPOSITORY / "repo")
    for number in range(8):
        trial = f"results/bench/system/run/task-{number}/trial"
        mode = "agent_timeout" if number % 2 else "unset"
        repo.write(f"{trial}/results.json", json.dumps({"task_id": f"task-{number}", "failure_mode": mode}))
        events = [json.dumps([float(at * (number + 1)), "o", "x"]) for at in range(10)]
        repo.write(f"{trial}/sessions/agent.cast", "\n".join(['{"version": 2}', *events, '[9, "o", "cut']))
    repo.commit_all()
    halves = [list(read_trials(repo.root, development=each)) for each in (True, False)]
    assert len(halves[0]) + len(halves[1]) == 8
    assert all(halves), "tasks are of one half or the other"
    trials = [each for half in halves for each in half]
    assert sorted(each.half for each in trials) == [4.0 * number for number in range(1, 9)]
    assert sorted(each.end for each in trials) == [9.0 * number for number in range(1, 9)]
    assert sum(each.has_timed_out for each in trials) == 4


def test_the_time_of_a_task_is_that_at_which_other_systems_were_stopped() -> None:
    def create_trial(system: str, task: str, end: float, *, stopped: bool) -> Trial:
        return Trial(system=system, task=task, has_timed_out=stopped, half=1.0, end=end, is_recorded=True)

    mine = create_trial("a", "t", 50.0, stopped=True)
    other = create_trial("b", "t", 70.0, stopped=True)
    trials = [
        mine,
        other,
        create_trial("b", "t", 5.0, stopped=False),
        create_trial("b", "u", 9.0, stopped=True),
    ]
    assert estimate_limit(mine, trials) == 70.0
    assert estimate_limit(other, trials) == 50.0
    assert estimate_limit(trials[3], trials) is None
