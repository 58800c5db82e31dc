"""Weights of selection by nested cross-validation: `python -m benchmarks.verification.weights --mirrors FOLDER`.

Patches of SWE-bench Lite (nothing is run), and the programs of CodeT's and HumanEval's pools as they were recorded
below --work (`python -m benchmarks.verification codet|humaneval`). Every choice (signs, penalty, weights, curve) is
made without the tasks that it is judged on; a task of both pools of programs is in one fold. Printed are the right
choices beside the baselines, the difference with interval and paired test, confidence against share, and the weights of
a fit of all tasks, which the product has rounded.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.verification import evaluate, likelihood, lite, runs
from benchmarks.verification.fitting import (
    Case,
    Outcome,
    choose,
    compute_p_value,
    cross_validate,
    fit_model,
)
from packages.search.select import agreement, static_signs

FOLDS, SEEDS = 10, 3
BINS = (0.0, 0.3, 0.5, 0.7, 0.9, 1.01)

PATCH_SUMS = {
    "two signs": {"same places": 1.0, "named in the task": 1.0},
    "three signs": {"same places": 1.0, "named in the task": 1.0, "places": 1.0},
}
PROGRAM_SUMS = {
    "dual agreement": {"size": 0.5, "tests": 1.0},
    "agreement": {"size": 0.5, "tests": 1.0, "support": 1.0},
}
"""Signs that are added up with the weights that they are known for, so that one weight is fitted for all of them."""

PATCH_FORMS = (("two signs",), ("three signs",), ("same places", "named in the task", "places"))
PROGRAM_FORMS = (
    ("dual agreement",),
    ("agreement",),
    ("agreement", "constant"),
    ("agreement", "constant", "unread"),
    ("size", "support", "tests", "constant", "unread"),
)
"""Sets of signs to choose from, the simplest first."""

PATCH_WITNESS = tuple((*form, "changes") for form in (("three signs",), *PATCH_FORMS[2:]))
PROGRAM_WITNESS = tuple(
    (*form, *signs)
    for form in (("agreement",), ("agreement", "constant", "unread"))
    for signs in (("results",), ("bodies",), ("results", "bodies"))
)
"""The same with what a local model says (`benchmarks.verification.likelihood`)."""

Told = Mapping[tuple[str, str], Mapping[str, Any]]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirrors", type=Path, default=os.environ.get("MIRRORS"), help="bare clones")
    parser.add_argument("--work", type=Path, default=Path("selection-runs"), help="folder of recorded runs")
    parser.add_argument(
        "--issues", type=Path, default=Path(os.environ.get("DATA", "."), "swebench_lite_dev.jsonl")
    )
    parser.add_argument("--told", type=Path, help="record of benchmarks.verification.likelihood")
    options = parser.parse_args()
    if options.mirrors is None:
        sys.exit("missing: --mirrors FOLDER, or MIRRORS in the environment")
    told = likelihood.collect_told(options.told) if options.told else {}
    report_patches(lite.read_tasks(options.mirrors, options.issues), told)
    pools = {each: options.work / f"{each}.jsonl" for each in ("codet", "humaneval")}
    if all(each.exists() for each in pools.values()):
        report_programs(*(runs.read_runs(each) for each in pools.values()), told)
    else:
        print(f"no recorded runs below {options.work}: programs are left out")


def report_patches(tasks: Sequence[lite.LiteTask], told: Told) -> None:
    """Print the choices among patches."""
    cases = []
    for task in tasks:
        changes = (told.get(("lite", task.name)) or {}).get("changes") or {}
        witness = likelihood.measure_changes(len(task.patches), changes)
        signs = [
            {**add_sums(each.values, PATCH_SUMS), "changes": value}
            for each, value in zip(lite.measure_task(task), witness, strict=True)
        ]
        cases.append(Case(name=task.name, signs=signs, right=list(map(float, task.right))))
    baseline = [sum(each.right) / len(each.right) for each in cases]
    rates = report("patches", {"lite": cases}, {"lite": baseline}, PATCH_FORMS, static_signs.WEIGHTS)
    if told:
        forms = (*PATCH_FORMS, *PATCH_WITNESS)
        report("patches, with a model", {"lite": cases}, rates, forms, static_signs.WEIGHTS)


def report_programs(
    codet: Sequence[evaluate.Record], humaneval: Sequence[evaluate.Record], told: Told
) -> None:
    """Print the choices among programs, fitted on both pools together."""
    weak = evaluate.list_weak_models(humaneval)
    chosen: dict[str, list[tuple[evaluate.Record, Sequence[int]]]] = {
        "codet": [(each, evaluate.list_members(each)) for each in codet],
        "examples": [(each, evaluate.keep_passing(each, evaluate.list_members(each))) for each in codet],
        "humaneval": [
            (
                each,
                evaluate.keep_suite(
                    each, [place for place, name in enumerate(each["names"]) if name in weak]
                ),
            )
            for each in humaneval
        ],
    }
    choosers: dict[str, Callable[[evaluate.Record, Sequence[int]], Sequence[int]]] = {
        "codet": evaluate.choose_by_codet,
        "examples": evaluate.choose_by_codet,
        "humaneval": lambda record, members: members,
    }
    cases = {
        pool: [build_case(*each, told.get((pool, each[0]["task"])) or {}) for each in rows]
        for pool, rows in chosen.items()
    }
    baselines = {
        pool: [evaluate.rate(record, choosers[pool](record, members)) for record, members in rows]
        for pool, rows in chosen.items()
    }
    rates = report("programs", cases, baselines, PROGRAM_FORMS, agreement.WEIGHTS)
    if told:
        forms = (*PROGRAM_FORMS[:4], *PROGRAM_WITNESS)
        report("programs, with a model", cases, rates, forms, agreement.WEIGHTS)


def build_case(record: evaluate.Record, members: Sequence[int], told: Mapping[str, Any]) -> Case:
    """Return the groups of a task's members with the signs that the selector has of them. told: by a model"""
    groups = likelihood.list_groups(record, members)
    witness = likelihood.measure_witness(record, groups, told)
    return Case(
        name=record["task"],
        signs=[
            {**add_sums(each.signs, PROGRAM_SUMS), **signs}
            for each, signs in zip(groups, witness, strict=True)
        ],
        right=[evaluate.rate(record, each.members) for each in groups],
    )


def add_sums(signs: Mapping[str, float], sums: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return signs with their sums."""
    return {
        **signs,
        **{name: sum(weight * signs[each] for each, weight in parts.items()) for name, parts in sums.items()},
    }


def report(
    title: str,
    pools: Mapping[str, Sequence[Case]],
    baselines: Mapping[str, Sequence[float]],
    forms: Sequence[Sequence[str]],
    weights: Mapping[str, float],
) -> dict[str, list[float]]:
    """Print what models of these pools choose on tasks that they were not made of, over several seeds.

    Returns how often each task's choice is right, by pool.
    """
    nested: dict[str, list[float]] = {}
    every = [each for cases in pools.values() for each in cases]
    places = [pool for pool, cases in pools.items() for _ in cases]
    drawn = [cross_validate(every, forms, folds=FOLDS, seed=seed) for seed in range(SEEDS)]
    print(f"\n{title}: signs chosen {Counter(tuple(each.model.weights) for row in drawn for each in row)}")
    for pool, cases in pools.items():
        columns = [[row[n] for row in drawn] for n, place in enumerate(places) if place == pool]
        rates = nested[pool] = [sum(each.rate for each in column) / SEEDS for column in columns]
        rows = {
            "baseline": list(baselines[pool]),
            "nested": rates,
            "product": [choose(each, weights)[0] for each in cases],
        }
        mixed = sum(min(each.right) < max(each.right) for each in cases)
        print(
            f"{pool}: {len(cases)} tasks, {mixed} mixed, oracle {sum(max(each.right) > 0 for each in cases)}"
        )
        for name, values in rows.items():
            gains = [one - other for one, other in zip(values, baselines[pool], strict=True)]
            low, high = evaluate.bootstrap(gains)
            share = 100 / len(cases)
            print(
                f"  {name:9} {sum(values):5.1f} = {share * sum(values):5.1f} %  {share * sum(gains):+5.1f}"
                f"  [{100 * low:+.1f}, {100 * high:+.1f}]  p {compute_p_value(gains):.3f}"
            )
        print("  by seed", [round(sum(column[seed].rate for column in columns), 1) for seed in range(SEEDS)])
        report_confidence([each for column in columns for each in column])
    model = fit_model(every, forms)
    print(f"{title}, of all tasks: {model}")
    return nested


def report_confidence(outcomes: Sequence[Outcome]) -> None:
    """Print mean confidence and share of right choices by bins, and the Brier score."""
    for low, high in itertools.pairwise(BINS):
        found = [each for each in outcomes if low <= each.confidence < high]
        if found:
            sure, right = (
                sum(getattr(each, name) for each in found) / len(found) for name in ("confidence", "rate")
            )
            number = len(found) / SEEDS
            print(
                f"    {low:.1f}–{min(high, 1.0):.1f}: {number:5.1f} tasks, said {sure:.2f}, right {right:.2f}"
            )
    score = sum((each.confidence - each.rate) ** 2 for each in outcomes) / len(outcomes)
    print(f"    Brier {score:.3f}")


if __name__ == "__main__":
    main()
