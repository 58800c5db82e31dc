"""Selection on pools of real candidates: `python -m benchmarks.verification POOL --mirrors FOLDER`.

Pools: codet, humaneval (programs run in the sandbox, results are kept below --work), lite (nothing runs).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from random import Random

from benchmarks.verification import codet, evaluate, humaneval, lite, runs


def main() -> None:
    options = _parse_arguments()
    if options.pool == "lite":
        _report_lite(options.mirrors, options.issues)
        return
    out = options.work / f"{options.pool}.jsonl"
    every = codet.read_tasks(options.mirrors, options.samples)
    tasks = list(every if options.pool == "codet" else humaneval.read_tasks(options.mirrors))
    Random(options.seed).shuffle(tasks)
    if not options.recorded:
        chosen = islice(tasks, options.tasks or None)
        runs.run_tasks(
            chosen, out, python=options.python, inputs=options.inputs, jobs=options.jobs, seed=options.seed
        )
    records = runs.read_runs(out)
    print(f"{len(records)} tasks, {sum(each['runs'] for each in records)} runs,", end=" ")
    print(f"{sum(each['seconds'] for each in records):.0f} s")
    (_report_codet if options.pool == "codet" else _report_humaneval)(records)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verification", description=__doc__)
    parser.add_argument("pool", choices=("codet", "humaneval", "lite"))
    parser.add_argument("--mirrors", type=Path, default=os.environ.get("MIRRORS"), help="bare clones")
    parser.add_argument("--work", type=Path, default=Path("selection-runs"), help="folder for recorded runs")
    parser.add_argument(
        "--issues", type=Path, default=Path(os.environ.get("DATA", "."), "swebench_lite_dev.jsonl")
    )
    parser.add_argument("--python", default=sys.executable, help="interpreter of the programs, with numpy")
    parser.add_argument("--tasks", type=int, default=0, help="so many tasks, in a random order; 0: all")
    parser.add_argument("--samples", type=int, default=40, help="programs of each task (codet)")
    parser.add_argument("--inputs", type=int, default=60, help="generated inputs")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--recorded", action="store_true", help="run nothing, report what was recorded")
    options = parser.parse_args()
    if options.mirrors is None:
        sys.exit("missing: --mirrors FOLDER, or MIRRORS in the environment")
    return options


def _report_codet(records: Sequence[evaluate.Record]) -> None:
    every = evaluate.list_members

    def passing(record: evaluate.Record) -> Sequence[int]:
        return evaluate.keep_passing(record, every(record))

    rows: dict[str, Callable[[evaluate.Record], Sequence[int]]] = {
        "random": every,
        "most tests": lambda each: evaluate.choose_by_most_tests(each, every(each)),
        "CodeT": lambda each: evaluate.choose_by_codet(each, every(each)),
        "selector": lambda each: evaluate.list_best(each, every(each)),
        "examples": passing,
        "examples, then CodeT": lambda each: evaluate.choose_by_codet(each, passing(each)),
        "examples, then selector": lambda each: evaluate.list_best(each, passing(each)),
    }
    _print_rows(records, rows, every)


def _report_humaneval(records: Sequence[evaluate.Record]) -> None:
    weak = evaluate.list_weak_models(records)
    print(f"{len(weak)} models below {100 * evaluate.WEAK:.0f} %")

    def list_weak(record: evaluate.Record) -> list[int]:
        return [place for place, name in enumerate(record["names"]) if name in weak]

    rows: dict[str, Callable[[evaluate.Record], Sequence[int]]] = {
        "random": list_weak,
        "base tests": lambda each: evaluate.keep_suite(each, list_weak(each)),
        "base tests, then selector": lambda each: evaluate.list_best(
            each, evaluate.keep_suite(each, list_weak(each))
        ),
    }
    _print_rows(records, rows, list_weak)


def _print_rows(
    records: Sequence[evaluate.Record],
    rows: dict[str, Callable[[evaluate.Record], Sequence[int]]],
    members: Callable[[evaluate.Record], Sequence[int]],
) -> None:
    for name, choose in rows.items():
        values = [evaluate.rate(each, choose(each)) for each in records]
        low, high = evaluate.bootstrap(values)
        print(f"{name:26} {100 * sum(values) / len(values):5.1f}  [{100 * low:.1f}, {100 * high:.1f}]")
    oracle = sum(any(each["right"][place] for place in members(each)) for each in records)
    print(f"{'oracle':26} {100 * oracle / len(records):5.1f}")


def _report_lite(mirrors: Path, issues: Path) -> None:
    tasks = lite.read_tasks(mirrors, issues)
    rows: dict[str, Callable[[lite.LiteTask], Sequence[int]]] = {
        "random": lambda each: range(len(each.patches)),
        "majority of texts": lite.choose_majority,
        "shortest diff": lite.choose_shortest,
        "static signs": lite.choose,
    }
    for name, choose in rows.items():
        values = [
            sum(task.right[place] for place in chosen) / len(chosen)
            for task, chosen in ((task, choose(task)) for task in tasks)
        ]
        low, high = (len(tasks) * bound for bound in evaluate.bootstrap(values))
        print(f"{name:26} {sum(values):5.1f} of {len(tasks)}  [{low:.1f}, {high:.1f}]")


if __name__ == "__main__":
    main()
