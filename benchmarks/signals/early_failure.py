"""Does a session of a small model fail? Said after half of its steps, by signs that need no model.

`python -m benchmarks.signals.early_failure FOLDER [--measure development|held] [--show]`: FOLDER was written by
`benchmarks.signals.small_runs`. The weights of the signs are fitted to the runs of the development half. There the
figures are those of a cross-validation that leaves out one kind of task after the other; `--measure held` fits to all
of that half, and judges the other. How many steps there were is no sign: one who watches does not know when half of
them have come. Runs of one step have no first half, and are counted apart.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.signals.small_runs import read_runs
from benchmarks.timeouts import measure_area
from packages.trace.outlook import SIGNS, measure_signs
from packages.trace.rows.session_trace import SessionTrace
from packages.trace.rows.trace_rows import Row
from sandbox.lazy_dataclass import dataclass

SHRINK = 1.0
"""Weight of the squared weights in the fit; signs are between 0 and 1."""

ROUNDS, RATE = 2_000, 0.05
DRAWS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A run as it is seen at half of its steps. kind: of its task"""

    run: str
    kind: str
    half: str
    has_failed: bool
    steps: int
    signs: Mapping[str, float]


def read_watched(folder: Path) -> Iterator[Watched]:
    """Yield the runs of a folder whose model was reached. Raises OSError."""
    for entry in read_runs(folder):
        home = folder / entry["run"] / "home/.local/share/patchwright"
        logs = sorted(home.glob(f"projects/*/sessions/{entry['session'] or '*'}/log.jsonl"))
        if not logs:
            continue
        trace = SessionTrace(logs[0].parent)
        trace.read_new_lines()
        steps = [row for row in trace.rows if row.number and not row.off]
        if not any(_is_reply(row) for row in steps):
            continue
        yield Watched(
            run=entry["run"],
            kind=entry["task"].partition("/")[0],
            half=entry["half"],
            has_failed=not entry["right"],
            steps=len(steps),
            signs=measure_signs(trace.rows[: _find_half(trace.rows)]),
        )


def _find_half(rows: Sequence[Row]) -> int:
    """Return how many rows there are until the step after half of the steps."""
    steps = [place for place, row in enumerate(rows) if row.number and not row.off]
    half = max(1, len(steps) // 2)
    return steps[half] if half < len(steps) else steps[-1] + 1


def _is_reply(row: Row) -> bool:
    return bool(row.detail.get("text") or row.detail.get("calls"))


def fit_weights(runs: Sequence[Watched], names: Sequence[str] = tuple(SIGNS)) -> dict[str, float]:
    """Return weights of signs, and of "" (the offset), by logistic regression with small weights."""
    weights = dict.fromkeys(("", *names), 0.0)
    for _ in range(ROUNDS):
        slopes = dict.fromkeys(weights, 0.0)
        for each in runs:
            error = each.has_failed - 1 / (1 + math.exp(-score(each, weights)))
            slopes[""] += error
            for name in names:
                slopes[name] += error * each.signs[name]
        for name in weights:
            pull = SHRINK * weights[name] if name else 0.0
            weights[name] += RATE * (slopes[name] - pull)
    return weights


def score(run: Watched, weights: Mapping[str, float]) -> float:
    """Return the log-odds of a failure."""
    return sum(weight * (run.signs[name] if name else 1.0) for name, weight in weights.items())


def cross_validate(runs: Sequence[Watched]) -> list[tuple[bool, float]]:
    """Return outcome and score of each run, by weights fitted without its kind of task."""
    found = []
    for kind in sorted({each.kind for each in runs}):
        weights = fit_weights([each for each in runs if each.kind != kind])
        weights[""] = 0.0  # the share of failures among the others says nothing of these
        found += [(each.has_failed, score(each, weights)) for each in runs if each.kind == kind]
    return found


def draw_interval(rows: Sequence[tuple[bool, float]], seed: int = 7) -> tuple[float, float]:
    """Return the bounds of 95 % of the areas of runs drawn with replacement."""
    rng = random.Random(seed)
    areas = sorted(measure_area(rng.choices(rows, k=len(rows))) for _ in range(DRAWS))
    return areas[DRAWS // 40], areas[-DRAWS // 40 - 1]


def print_area(name: str, rows: Sequence[tuple[bool, float]]) -> None:
    """Print one line of figures."""
    low, high = draw_interval(rows) if rows else (0.0, 0.0)
    failed = sum(is_failed for is_failed, _ in rows)
    print(
        f"{name}: {len(rows)} runs, {failed} fail, AUC {measure_area(list(rows)):.3f} ({low:.3f} to {high:.3f})"
    )


def main() -> None:
    """Print the areas for all runs, and for those of two steps or more."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--measure", choices=("development", "held"), default="development")
    parser.add_argument("--show", action="store_true", help="print the signs of each run")
    options = parser.parse_args()
    runs = list(read_watched(options.folder.resolve()))
    fitted = [each for each in runs if each.half == "development"]
    for title, least in (("runs of two steps or more", 2), ("all runs", 1)):
        part = [each for each in fitted if each.steps >= least]
        weights = fit_weights(part)
        print({name or "offset": round(weight, 2) for name, weight in weights.items()})
        if options.measure == "held":
            judged = [each for each in runs if each.half == "held" and each.steps >= least]
            rows = [(each.has_failed, score(each, weights)) for each in judged]
        else:
            rows = cross_validate(part)
        print_area(title, rows)
        for sign in SIGNS:
            judged = [each for each in runs if each.half == options.measure and each.steps >= least]
            area = measure_area([(each.has_failed, each.signs[sign]) for each in judged])
            print(f"  {sign} alone: {area:.3f}")
    if options.show:
        for each in runs:
            if each.half == options.measure:
                print(_format_run(each))


def _format_run(run: Watched) -> str:
    signs: dict[str, Any] = {name: round(value, 2) for name, value in run.signs.items() if value}
    return f"{run.run}: {'fails' if run.has_failed else 'right'} after {run.steps} steps, {signs}"


if __name__ == "__main__":
    main()
