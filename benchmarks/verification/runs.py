"""Results of a pool's programs on their checks and on generated inputs, kept in a work folder between steps."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packages.search.programs.behaviour import compute_key
from packages.search.programs.checks import Check
from packages.search.programs.input_generation import (
    InputPlan,
    collect_literals,
    find_signature,
    generate_inputs,
)
from packages.search.programs.program_runner import Program, ProgramRunner, RunLimits
from sandbox.backends.selection import choose_sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task of a pool.

    names, sources: of the candidates; given: checks from the task's own tests or examples
    suggested: checks that a model wrote; truth: statements that hold for a right program
    """

    name: str
    function: str
    prompt: str
    names: Sequence[str]
    sources: Sequence[str]
    given: Sequence[Check]
    suggested: Sequence[Check] = ()
    suite: Sequence[str] = ()
    truth: str = ""


def run_tasks(tasks: Iterable[Task], out: Path, *, python: str, inputs: int, jobs: int, seed: int) -> None:
    """Run the tasks that `out` does not hold yet, each as one line of JSON."""
    out.parent.mkdir(parents=True, exist_ok=True)
    known = {each["task"] for each in read_runs(out)} if out.exists() else set()
    folder = out.parent / "empty"
    folder.mkdir(exist_ok=True)
    sandbox = choose_sandbox(folder.resolve())
    if sandbox.name == "unconfined":
        sys.exit("no sandbox works here: programs of others are not run without one")
    limits = RunLimits(call_seconds=0.3, check_seconds=5.0, load_seconds=3.0)
    runner = ProgramRunner(sandbox=sandbox, folder=folder.resolve(), python=python, limits=limits, jobs=jobs)
    with out.open("a") as file:
        for task in tasks:
            if task.name not in known:
                record = asyncio.run(_run_task(task, runner, inputs, seed))
                file.write(json.dumps(record) + "\n")
                file.flush()


def read_runs(out: Path) -> list[dict[str, Any]]:
    """Return the records of a work folder."""
    return [json.loads(line) for line in out.read_text().splitlines()]


async def _run_task(task: Task, runner: ProgramRunner, inputs: int, seed: int) -> dict[str, Any]:
    started, before = time.monotonic(), runner.runs
    seeds = list(dict.fromkeys(each.call for each in (*task.given, *task.suggested) if each.call))
    literals = collect_literals(task.sources)
    drawn = generate_inputs(
        InputPlan(given=seeds, literals=literals, most=inputs, seed=seed),
        find_signature([task.prompt + "    pass\n", *task.sources], task.function),
    )
    calls = [*seeds, *drawn]
    raw = [each.text for each in (*task.given, *task.suggested) if not each.call]
    checks = [*raw, *task.suite, task.truth]
    distinct = list(dict.fromkeys(task.sources))
    programs = [Program(name="candidate", function=task.function, source=each) for each in distinct]
    runs = dict(zip(distinct, await runner.run_programs(programs, calls, checks), strict=True))
    return {
        "task": task.name,
        "function": task.function,
        "names": list(task.names),
        "sources": list(task.sources),
        "given": [[each.text, each.call, each.expected, each.count] for each in task.given],
        "suggested": [[each.text, each.call, each.expected, each.count] for each in task.suggested],
        "seeds": len(seeds),
        "calls": calls,
        "keys": [[compute_key(each) for each in runs[source].calls] for source in task.sources],
        "raw": [list(runs[source].checks[: len(raw)]) for source in task.sources],
        "suite": [all(runs[source].checks[len(raw) : -1]) for source in task.sources],
        "right": [runs[source].checks[-1] for source in task.sources],
        "seconds": round(time.monotonic() - started, 2),
        "runs": runner.runs - before,
    }
