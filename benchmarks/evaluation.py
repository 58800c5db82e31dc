"""What `patchwright eval` costs: its overhead over bare runs of the same work, and the time of many trivial trials."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from agent.app_dirs import Home
from agent.session_settings import SessionSettings
from packages.evaluation.executors.local_executor import LocalExecutor
from packages.evaluation.runs.base_repository import prepare_base
from packages.evaluation.runs.result_store import ResultStore
from packages.evaluation.runs.run_plan import make_plan
from packages.evaluation.runs.run_suite import SuiteRun
from packages.evaluation.runs.variant import RunFolders, make_variant
from packages.evaluation.tasks.task_file import TaskFile
from packages.evaluation.tasks.task_folder import Task
from packages.evaluation.tasks.task_writer import TaskDraft, write_task

CHECKOUT = Path(__file__).parents[1]

TARGETS = (
    "targets: overhead over bare runs at most 5 %; 1,000 trivial trials on two processors in at most 120 s"
)


def write_task_folder(folder: Path) -> Task:
    """Write a task whose checker imports the changed module.

    It names its Python by `$PYTHON`: `python3` may be a script of a version manager, pyenv's starts 40 processes.
    """
    return write_task(
        folder,
        TaskDraft(
            file=TaskFile.model_validate({"base": {"folder": "repo"}, "check": '"$PYTHON" -I -B check.py'}),
            prompt="Fix add.",
            base_files={"add.py": b"def add(a, b):\n    return a - b\n"},
            checker_files={
                "check.py": b"import sys\nsys.path.append('.')\nfrom add import add\nassert add(1, 2) == 3\n"
            },
        ),
    )


def write_model(path: Path, delay: float) -> str:
    """Write a scripted model that reads, edits and answers; delay: seconds before each of its replies"""
    edit = {"path": "add.py", "old": "a - b", "new": "a + b"}
    turns = [
        {"calls": [{"tool": "read", "arguments": {"path": "add.py"}}], "delay": delay},
        {"calls": [{"tool": "edit", "arguments": edit}], "delay": delay},
        {"text": "Done.", "delay": delay},
    ]
    path.write_text(json.dumps({"turns": turns}))
    return f"scripted:{path}"


def measure_bare(task: Task, model: str, folder: Path, count: int) -> float:
    """Return the seconds of `count` runs of the command and the checker, one after the other."""
    environment = {**os.environ, "PATCHWRIGHT_HOME": str(folder / "bare"), "PYTHONPATH": str(CHECKOUT)}
    base = prepare_base(task, folder / "bare-scratch")
    seconds = 0.0
    for number in range(count):
        place = folder / f"bare-{number}"
        started = time.perf_counter()
        shutil.copytree(base, place)
        command = [sys.executable, "-m", "patchwright", "run", task.prompt, "--model", model, "--no-commit"]
        subprocess.run(command, cwd=place, env=environment, capture_output=True, check=False)
        shutil.copy2(task.folder / "check" / "check.py", place)
        subprocess.run([sys.executable, "-I", "-B", "check.py"], cwd=place, check=True)
        seconds += time.perf_counter() - started
        shutil.rmtree(place)
    return seconds


def measure_trials(task: Task, model: str, folder: Path, count: int, jobs: int) -> float:
    """Return the seconds of `count` trials of the harness, start of its workers included."""
    own = folder / f"own-{count}-{jobs}"
    home = Home(data=own / "data", config=own / "config", cache=own / "cache")
    store = ResultStore(own / "data" / "evaluation")
    variant = make_variant("scripted", SessionSettings(model=model), home=home)
    plan = make_plan("trivial", [task], [variant], trials=count, seed=0, version="benchmark")
    scratch = home.cache / "evaluation" / plan.record.id
    folders = RunFolders(home=home, scratch=scratch, sessions=store.sessions)

    async def run_all() -> int:
        suite_run = SuiteRun(plan, store, LocalExecutor(jobs, folder), folders, version="benchmark")
        try:
            return (await suite_run.run()).solved
        finally:
            await suite_run.close()

    started = time.perf_counter()
    solved = asyncio.run(run_all())
    if solved != count:
        raise SystemExit(f"{count - solved} of {count} trials are not solved")
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bare", type=int, default=10, help="runs for the overhead")
    parser.add_argument("--delay", type=float, default=1.0, help="seconds of each reply there")
    parser.add_argument("--trials", type=int, default=1000, help="trivial trials")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors", flush=True)
    with tempfile.TemporaryDirectory(prefix="evaluation-") as made:
        folder = Path(made)
        task = write_task_folder(folder / "suite" / "add")
        slow, fast = write_model(folder / "slow.json", args.delay), write_model(folder / "fast.json", 0.0)
        bare = measure_bare(task, slow, folder, args.bare)
        harness = measure_trials(task, slow, folder, args.bare, 1)
        print(
            f"{args.bare} trials with replies of {args.delay:g} s: {harness:.1f} s,"
            f" bare runs {bare:.1f} s: overhead {harness / bare - 1:+.1%}",
            flush=True,
        )
        seconds = measure_trials(task, fast, folder, args.trials, args.jobs)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"{args.trials} trivial trials, {args.jobs} at once: {seconds:.1f} s,"
            f" {1000 * seconds / args.trials:.0f} ms each; processor time of all workers so far"
            f" {used.ru_utime + used.ru_stime:.1f} s; load {os.getloadavg()[0]:.1f}"
        )
    print(TARGETS)


if __name__ == "__main__":
    main()
