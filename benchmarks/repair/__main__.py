"""Measure the repair engine: `python -m benchmarks.repair quixbugs CLONE`, and so on (`--help`)."""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.repair import debugbench, humanevalfix, quixbugs, refactory
from benchmarks.repair.cases import Case
from benchmarks.repair.measure import Measured, measured

SEED = 20261121
"""What the published figures were made with."""


def main() -> None:
    """A line for each case as it ends, the table at the end."""
    options = _parser().parse_args()
    wanted = _cases(options)
    if options.only:
        wanted = (each for each in wanted if any(part in each.name for part in options.only))
    done = []
    record = options.json.open("a", encoding="utf-8") if options.json else None
    begun = time.monotonic()
    for result in measured(itertools.islice(wanted, options.first), options.budget, options.jobs):
        done.append(result)
        print(_line(result), flush=True)
        if options.show:
            _show(result)
        if record:
            record.write(json.dumps(result.as_data()) + "\n")
            record.flush()
    _report(done, time.monotonic() - begun)
    if record:
        record.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair", description=__doc__)
    parser.add_argument("set", choices=("quixbugs", "debugbench", "humanevalfix", "refactory"))
    parser.add_argument("clone", type=Path, help="where the data set was cloned")
    parser.add_argument("--half", choices=("development", "held-out"), default="development")
    parser.add_argument("--double", action="store_true", help="DebugBench: programs with two faults")
    parser.add_argument(
        "--weak", action="store_true", help="DebugBench, HumanEvalFix: only the published examples as tests"
    )
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--budget", type=float, default=30.0, help="seconds a case")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--first", type=int, default=None, help="only so many cases")
    parser.add_argument("--only", nargs="*", default=(), help="parts of names")
    parser.add_argument("--show", action="store_true", help="print the changes found")
    parser.add_argument("--json", type=Path, help="append each result to this file")
    return parser


def _cases(options: argparse.Namespace) -> Iterator[Case]:
    if not options.clone.is_dir():
        sys.exit(
            f"benchmarks.repair: no such folder: {options.clone} (docs/offline.md says where to get the data)"
        )
    if options.set == "quixbugs":
        return iter(quixbugs.cases(options.clone))
    if options.set == "refactory":
        return refactory.cases(options.clone, half=options.half, sample=options.sample, seed=options.seed)
    if options.set == "humanevalfix":
        return humanevalfix.cases(
            options.clone, half=options.half, sample=options.sample, seed=options.seed, weak=options.weak
        )
    kinds = ("double",) if options.double else debugbench.SEMANTIC
    return debugbench.cases(
        options.clone,
        half=options.half,
        sample=options.sample,
        seed=options.seed,
        weak=options.weak,
        kinds=kinds,
    )


def _line(result: Measured) -> str:
    word = "right" if result.right else "WRONG" if result.plausible else result.outcome
    templates = "+".join(fix["template"] for fix in result.fixes)
    return (
        f"{result.name:44.44} {word:13} {result.tried:5} tried {result.cpu:6.1f} s CPU "
        f"{result.wall:6.1f} s  {templates}"
    )


def _show(result: Measured) -> None:
    for fix in result.fixes:
        print("\n".join(f"      - {line}" for line in fix["old"].split("\n")))
        print("\n".join(f"      + {line}" for line in fix["new"].split("\n")))


def _report(done: Sequence[Measured], seconds: float) -> None:
    if not done:
        sys.exit("benchmarks.repair: no case could be made")
    plausible = [each for each in done if each.plausible]
    right = [each for each in plausible if each.right]
    print(
        f"\n{len(done)} cases: {len(plausible)} plausible ({_percent(plausible, done)}), "
        f"{len(right)} right ({_percent(right, done)}), precision {_percent(right, plausible)}, "
        f"{sum(each.exact for each in done)} as the reference is written; "
        f"test files touched: {sum(each.touched_tests for each in done)}"
    )
    print(
        f"CPU {sum(each.cpu for each in done):.0f} s in all, median "
        f"{statistics.median(each.cpu for each in done):.1f} s a case; {seconds:.0f} s by the clock, "
        f"median {statistics.median(each.wall for each in done):.1f} s a case; "
        f"{sum(each.tried for each in done)} candidates"
    )
    _report_confidence(plausible)
    for kind, number in sorted(Counter(each.kind for each in done).items()):
        of = [each for each in done if each.kind == kind]
        print(
            f"  {kind:20} {sum(e.plausible for e in of):3} plausible {sum(e.right for e in of):3} right of {number}"
        )


def _report_confidence(plausible: Sequence[Measured]) -> None:
    """How often what was said with some confidence was right: calibrated, if the two are near each other."""
    for low, high in itertools.pairwise((0.0, 0.4, 0.6, 0.75, 0.85, 1.01)):
        stated = {each.name: min(fix["confidence"] for fix in each.fixes) for each in plausible}
        of = [each for each in plausible if low <= stated[each.name] < high]
        if of:
            mean = statistics.mean(stated[each.name] for each in of)
            share = _percent([each for each in of if each.right], of)
            print(
                f"  confidence {low:.2f} to {min(high, 1):.2f}: {mean:.2f} stated, {share} right of {len(of)}"
            )


def _percent(part: Sequence[object], whole: Sequence[object]) -> str:
    return f"{100 * len(part) / len(whole):.0f} %" if whole else "–"


if __name__ == "__main__":
    main()
