"""Strategies on simulated authors: `python -m benchmarks.search WORLD`.

sample: adaptive sampling on CodeT's pool. The programs run once, in the sandbox; results are kept below --work.
repairs: tree and evolve against best-of-N on programs with two or three faults, which run in the sandbox.
pipeline: tokens on real issues, against recorded runs (--issues, --recorded-runs).
auto: its choices on the pool of `sample` if that was recorded, and on the programs of `repairs`, against each strategy.
overhead: processor time and memory of the harness for each of many attempts (--nodes).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from benchmarks.search.auto_repairs import report_auto_repairs
from benchmarks.search.auto_world import report_auto
from benchmarks.search.overhead import report_overhead
from benchmarks.search.pipeline_tokens import report_tokens
from benchmarks.search.repairs import report_repairs
from benchmarks.search.sampling import report_sampling
from benchmarks.verification import codet, runs


def main() -> None:
    options = _parse_arguments()
    out = options.work / "codet.jsonl"
    if options.world == "auto" and out.is_file():
        report_auto(runs.read_runs(out), options.seeds)
    if options.world in ("repairs", "auto"):
        if options.mirrors is None:
            sys.exit("missing: --mirrors FOLDER, or MIRRORS in the environment")
        report = report_repairs if options.world == "repairs" else report_auto_repairs
        asyncio.run(
            report(
                options.mirrors,
                options.work / "states",
                options.tasks,
                options.attempts,
                options.skill,
                options.seeds,
            )
        )
        return
    if options.world == "overhead":
        report_overhead(options.nodes)
        return
    if options.world == "pipeline":
        if options.mirrors is None or not (options.issues.is_file() and options.recorded_runs.is_file()):
            sys.exit("missing: --mirrors FOLDER, --issues FILE and --recorded-runs FILE, or MIRRORS and DATA")
        report_tokens(options.issues, options.recorded_runs, options.mirrors, options.tasks, options.seed)
        return
    if not options.recorded:
        if options.mirrors is None:
            sys.exit("missing: --mirrors FOLDER, or MIRRORS in the environment")
        tasks = codet.read_tasks(options.mirrors, options.samples)
        runs.run_tasks(tasks, out, python=options.python, inputs=60, jobs=options.jobs, seed=0)
    records = runs.read_runs(out)
    report_sampling(records, options.seeds, by_examples=False)
    report_sampling(records, options.seeds, by_examples=True)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("world", choices=("sample", "repairs", "pipeline", "auto", "overhead"))
    parser.add_argument("--mirrors", type=Path, default=os.environ.get("MIRRORS"), help="bare clones")
    parser.add_argument("--work", type=Path, default=Path("selection-runs"), help="folder for recorded runs")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the programs, with numpy")
    parser.add_argument("--samples", type=int, default=40, help="programs of each task")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--recorded", action="store_true", help="run no program, report what was recorded")
    data = Path(os.environ.get("DATA", "."))
    parser.add_argument("--issues", type=Path, default=data / "swebench_lite_dev.jsonl")
    parser.add_argument("--recorded-runs", type=Path, default=data / "sweagent_trajectories_dev.jsonl.xz")
    parser.add_argument("--tasks", type=int, default=30, help="issues or programs, in a random order")
    parser.add_argument("--attempts", type=int, default=8, help="of one turn (repairs)")
    parser.add_argument(
        "--skill", type=float, default=0.3, help="share of the author's right moves (repairs)"
    )
    parser.add_argument("--nodes", type=int, default=64, help="attempts of one turn (overhead)")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
