"""Kill workers of a Ray cluster while a run of trials goes on: each trial has one result, and lost spending counts.

    .venv/bin/python -m benchmarks.ray_kills [TRIALS [SECONDS [EVERY]]]

A cluster of two nodes on this machine; every EVERY seconds (5) one of its processes that run trials gets SIGKILL, for
SECONDS (120). Each trial's model spends a cent and sleeps for a second.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.session_settings import SessionSettings
from packages.evaluation.runs.result_store import ResultStore
from packages.evaluation.runs.run_plan import RunPlan, make_plan
from packages.evaluation.runs.run_suite import Progress, SuiteRun
from packages.evaluation.runs.variant import RunFolders, make_variant
from packages.evaluation.tasks.task_folder import load_task
from packages.scale.cluster.ray_cluster import RayCluster
from packages.scale.trials.ray_executor import RayExecutor, RayOptions
from patchwright.version import VERSION
from tests.support.ray_cluster import list_trial_actors, start_cluster

CENT = {"input": 10, "output": 1, "cost": 0.01}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of a run. results: pairs of a trial's number and whether it was solved; costs in dollars"""

    kills: int
    lost_workers: int
    results: list[tuple[int, bool]]
    cost: float
    lost_cost: float
    seconds: float


class Killer:
    """Kills one process that runs trials now and then, from the first spending on."""

    def __init__(self, most: int, every: float) -> None:
        self.kills = 0
        self._most = most
        self._every = every
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._kill_workers, daemon=True)

    def start(self) -> None:
        if not self._thread.ident:
            self._thread.start()

    def end(self) -> None:
        self._ended.set()
        if self._thread.ident:
            self._thread.join()

    def _kill_workers(self) -> None:
        while self.kills < self._most and not self._ended.wait(self._every):
            actors = list_trial_actors()
            with suppress(ProcessLookupError):
                if actors:
                    os.kill(random.choice(actors), signal.SIGKILL)
                    self.kills += 1


def make_spending_plan(folder: Path, trials: int) -> RunPlan:
    """Return a plan of one task, whose trials spend a cent, and then sleep for a second."""
    task = folder / "suite" / "sleep"
    (task / "repo").mkdir(parents=True)
    (task / "repo" / "a.txt").write_text("a\n")
    (task / "task.toml").write_text('prompt = "Sleep."\ncheck = "true"\n[base]\nfolder = "repo"\n')
    call = {"tool": "shell", "arguments": {"command": "sleep 1"}}
    script = folder / "sleep.json"
    script.write_text(json.dumps({"turns": [{"calls": [call], "usage": CENT}, {"text": "Done."}]}))
    variant = make_variant("sleep", SessionSettings(model=f"scripted:{script}"))
    return make_plan("suite", [load_task(task)], [variant], trials=trials, seed=0, version=VERSION)


def run_with_kills(cluster: Any, folder: Path, trials: int, *, kills: int, every: float) -> Outcome:
    """Run trials on a cluster, of which workers are killed meanwhile."""
    plan, store = make_spending_plan(folder, trials), ResultStore(folder / "store")
    home = Home(data=folder / "data", config=folder / "config", cache=folder / "cache")
    folders = RunFolders(home=home, scratch=home.cache / "evaluation", sessions=store.sessions)
    options = RayOptions(run=plan.record.id, artifacts=str(folder / "artifacts"), env={}, version=VERSION)
    executor = RayExecutor(RayCluster.connect(cluster.address), options)
    killer = Killer(kills, every)

    def follow(progress: Progress) -> None:
        if progress.tokens:
            killer.start()

    async def run() -> Progress:
        suite_run = SuiteRun(plan, store, executor, folders, version=VERSION, on_progress=follow)
        try:
            return await suite_run.run()
        finally:
            killer.end()
            await suite_run.close()

    started = time.monotonic()
    progress = asyncio.run(run())
    seconds = time.monotonic() - started
    spending = store.read_spending(plan.record)
    return Outcome(
        kills=killer.kills,
        lost_workers=progress.lost_workers,
        results=sorted((each.trial, each.solved) for each in store.read_results(plan.record)),
        cost=spending.cost,
        lost_cost=spending.lost_cost,
        seconds=seconds,
    )


def main() -> None:
    """Print the result of one run."""
    given = sys.argv[1:] + ["500", "120", "5"][len(sys.argv) - 1 :]
    trials, seconds, every = int(given[0]), float(given[1]), float(given[2])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with start_cluster({"PATCHWRIGHT_HOME": str(folder / "home")}) as cluster:
            outcome = run_with_kills(
                cluster, folder / "run", trials, kills=int(seconds // every), every=every
            )
        print(f"kills {outcome.kills}, workers lost {outcome.lost_workers}, {outcome.seconds:.0f} s")
        numbers = [number for number, _ in outcome.results]
        print(
            f"results {len(numbers)}, different {len(set(numbers))}, solved {sum(s for _, s in outcome.results)}"
        )
        print(
            f"spent ${outcome.cost:.2f}, of it lost ${outcome.lost_cost:.2f}; load {os.getloadavg()[0]:.1f}"
        )


if __name__ == "__main__":
    main()
