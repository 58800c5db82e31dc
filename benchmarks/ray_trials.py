"""Measure trials on a Ray cluster of two nodes on this machine, against local worker processes.

    .venv/bin/python -m benchmarks.ray_trials [TRIALS]

Each trial's model sleeps for one second by a command in the sandbox. Starts of cluster and workers are left out: the
time is counted from the first to the last result.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from agent.app_dirs import Home
from agent.session_settings import SessionSettings
from packages.evaluation.executors.executor import TrialExecutor
from packages.evaluation.executors.local_executor import LocalExecutor
from packages.evaluation.runs.result_store import ResultStore
from packages.evaluation.runs.run_plan import RunPlan, make_plan
from packages.evaluation.runs.run_suite import Progress, SuiteRun
from packages.evaluation.runs.variant import RunFolders, make_variant
from packages.evaluation.tasks.task_folder import load_task
from packages.scale.cluster.ray_cluster import RayCluster
from packages.scale.trials.ray_executor import RayExecutor, RayOptions
from patchwright.version import VERSION
from tests.support.ray_cluster import start_cluster

SLOTS = 4


def make_sleeping_plan(folder: Path, trials: int) -> RunPlan:
    """Return a plan of one task, whose trials sleep for a second."""
    task = folder / "suite" / "sleep"
    (task / "repo").mkdir(parents=True)
    (task / "repo" / "a.txt").write_text("a\n")
    (task / "task.toml").write_text('prompt = "Sleep."\ncheck = "true"\n[base]\nfolder = "repo"\n')
    call = {"tool": "shell", "arguments": {"command": "sleep 1"}}
    script = folder / "sleep.json"
    script.write_text(json.dumps({"turns": [{"calls": [call]}, {"text": "Done."}]}))
    variant = make_variant("sleep", SessionSettings(model=f"scripted:{script}"))
    return make_plan("suite", [load_task(task)], [variant], trials=trials, seed=0, version=VERSION)


def measure_rate(plan: RunPlan, executor: TrialExecutor, folder: Path) -> tuple[float, int]:
    """Return trials a second after the first round of the workers, and the number of results."""
    store = ResultStore(folder / "store")
    home = Home(data=folder / "data", config=folder / "config", cache=folder / "cache")
    times: list[float] = []

    def note(progress: Progress) -> None:
        if progress.done > len(times):
            times.extend([time.monotonic()] * (progress.done - len(times)))

    async def run() -> None:
        folders = RunFolders(home=home, scratch=home.cache / "evaluation", sessions=store.sessions)
        suite_run = SuiteRun(plan, store, executor, folders, version=VERSION, on_progress=note)
        try:
            await suite_run.run()
        finally:
            await suite_run.close()

    asyncio.run(run())
    rate = (len(times) - 2 * SLOTS) / (times[-1 - SLOTS] - times[SLOTS - 1])
    return rate, len(store.read_results(plan.record))


def main() -> None:
    """Print one line for each executor."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = make_sleeping_plan(folder, trials)
        local, count = measure_rate(plan, LocalExecutor(SLOTS, folder), folder / "local")
        print(
            f"local: {local:.2f} trials a second, {count} results, load {os.getloadavg()[0]:.1f}", flush=True
        )
        with start_cluster({"PATCHWRIGHT_HOME": str(folder / "home")}) as cluster:
            options = RayOptions(
                run=plan.record.id, artifacts=str(folder / "artifacts"), env={}, version=VERSION
            )
            executor = RayExecutor(RayCluster.connect(cluster.address), options)
            found, count = measure_rate(plan, executor, folder / "ray")
        print(f"Ray: {found:.2f} trials a second, {count} results, load {os.getloadavg()[0]:.1f}", flush=True)
        print(f"{found / local:.0%} of the local throughput")


if __name__ == "__main__":
    main()
