"""Sessions of a real small model with tools on small tasks: does it fail? The logs are kept.

    python -m benchmarks.signals.small_runs FOLDER [--humaneval-fix humanevalpack.jsonl | --hinted] [--most 100]
        [--api-base http://127.0.0.1:8080/v1] [--model NAME] [--temperature 0.7] [--max-steps 12]
        [--max-time 45] [--seed 1]

Each run is a `patchwright run` in a project of its own, led by nobody but the model; FOLDER/RUN keeps the project and
the home with the session's log, FOLDER/runs.jsonl has one line for each with the verdict of the task's judge. What is
there is not run again. The tasks come in an order that the seed gives; after the last one each is run a second time.
The sampling of the model has no seed of its own: the same command makes other runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from agent.exit_codes import Exit
from benchmarks._measure import COMMAND, environment
from benchmarks.local_model.__main__ import write_files
from benchmarks.signals.small_tasks import SmallTask, list_hinted_tasks, list_tasks
from sandbox.backends.selection import choose_sandbox
from sandbox.process.command import Command

SETTINGS = """\
[lead]
when = "never"
fallback = "never"

[models]
temperature = {temperature}

[agents]
delegate = false

[memory]
enabled = false
"""

WAITS = 300
"""Times, two seconds apart, that a server is asked whether it is there."""

_GRACE = 120.0
"""Seconds beyond its limit for a run to end by itself."""


def run_task(task: SmallTask, place: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Let the model work on a task in a new folder; return how it ended, and whether the judge is content."""
    project, home = place / "project", place / "home"
    shutil.rmtree(place, ignore_errors=True)
    write_files(project, task.files)
    write_files(home, {".config/patchwright/settings.toml": SETTINGS.format(temperature=options.temperature)})
    env = environment(home, OPENAI_API_KEY="none")
    for command in (
        ["init", "-q"],
        ["config", "user.name", "A"],
        ["config", "user.email", "a@example.org"],
        ["add", "."],
        ["commit", "-qm", "Begin"],
    ):
        subprocess.run(["git", *command], cwd=project, env=env, check=True)
    argv = [COMMAND, "run", "--model", options.model, "--api-base", options.api_base, "--output", "json"]
    argv += [
        "--max-steps",
        str(options.max_steps),
        "--max-time",
        str(options.max_time),
        "--no-commit",
        task.prompt,
    ]
    started = time.monotonic()
    try:
        done = subprocess.run(
            argv, cwd=project, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL,
            timeout=options.max_time + _GRACE,
        )  # fmt: skip
        code, output, error = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, output, error = -1, "", "not ended in time"
    seconds = time.monotonic() - started
    try:
        result = json.loads(output)
    except ValueError:
        result = {}
    answer = str(result.get("summary", ""))
    return {
        "right": judge(task, project, answer),
        "code": code,
        "outcome": result.get("outcome", ""),
        "steps": result.get("steps", 0),
        "session": result.get("session", ""),
        "answer": answer,
        "error": "" if result else error.strip()[-300:],
        "seconds": round(seconds, 1),
        "load": round(os.getloadavg()[0], 1),
    }


def judge(task: SmallTask, project: Path, answer: str) -> bool:
    """Return whether the work is right; its code runs in a copy, in the sandbox."""
    if task.answer and re.search(task.answer, answer) is None:
        return False
    if not task.check:
        return True
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve() / "copy"
        shutil.copytree(project, place, ignore=shutil.ignore_patterns(".git", "__pycache__"), symlinks=True)
        write_files(place, task.hidden)
        argv = (sys.executable, "-c", task.check)
        command = Command(argv=argv, cwd=place, timeout=60.0)
        return asyncio.run(choose_sandbox(place).run(command)).returncode == 0


def iterate_runs(tasks: Sequence[SmallTask], most: int, seed: int) -> Iterator[tuple[str, SmallTask]]:
    """Yield names and tasks of the runs, in order."""
    tasks = list(tasks)
    random.Random(seed).shuffle(tasks)
    names = ((f"{task.id.replace('/', '-')}-{sample}", task) for sample in count(1) for task in tasks)
    for _, run in zip(range(most), names, strict=False):
        yield run


def read_runs(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of the record in a folder."""
    path = folder / "runs.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def wait_for_server(api_base: str) -> None:
    """Return when the server answers: it may be loading its model. Raises SystemExit after ten minutes."""
    for _ in range(WAITS):
        try:
            urllib.request.urlopen(f"{api_base}/models", timeout=10).close()
        except OSError:
            time.sleep(2)
        else:
            return
    raise SystemExit(f"{api_base} does not answer")


def main() -> None:
    """Run what is not in the record, one after the other, and print the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--humaneval-fix", type=Path, metavar="FILE")
    parser.add_argument("--hinted", action="store_true", help="the easier tasks, with a word on the tools")
    parser.add_argument("--most", type=int, default=100)
    parser.add_argument("--api-base", default="http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="openai/qwen2.5-coder-1.5b")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--max-steps", type=int, default=12)
    parser.add_argument("--max-time", type=float, default=45.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    known = {each["run"] for each in read_runs(folder)}
    tasks = list_hinted_tasks() if options.hinted else list_tasks(options.humaneval_fix)
    for run, task in iterate_runs(tasks, options.most, options.seed):
        if run in known:
            continue
        wait_for_server(options.api_base)
        entry = {
            "run": run,
            "task": task.id,
            "half": task.half,
            "level": task.level,
            "temperature": options.temperature,
            **run_task(task, folder / run, options),
        }
        if entry["code"] == Exit.MODEL_UNREACHABLE:
            raise SystemExit(f"{run}: {entry['answer']}")
        with (folder / "runs.jsonl").open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(json.dumps(entry), flush=True)
    runs = read_runs(folder)
    for half in ("development", "held"):
        for level in sorted({each["level"] for each in runs}):
            part = [each["right"] for each in runs if (each["half"], each["level"]) == (half, level)]
            print(f"{half}, {level}: {sum(part)} of {len(part)} right")


if __name__ == "__main__":
    main()
