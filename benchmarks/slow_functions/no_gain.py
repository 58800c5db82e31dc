"""How often a search claims a gain where there is none, with the noise of real clocks.

`python -m benchmarks.slow_functions.no_gain [--runs N]`: each run searches among candidates that do what the original
does, each timed in turns with it in this process. At most 5 % of the runs may claim a gain.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import Any

from packages.evaluation.statistics.intervals import compute_wilson_interval
from packages.improve.optimize.measurement import PairedRuns
from packages.improve.optimize.search import ALPHA, Claim, Search
from packages.improve.rewrites.rewrite import Rewrite, TextEdit

TEXT = "def f(xs):\n    a = 0\n    for b in xs:\n        c = b * b\n        a += c\n    return a\n"
NAMES = "abc"
"""Names of the function that a candidate may write otherwise, which changes nothing at run time."""

ITEMS = list(range(20_000))


async def propose(text: str) -> list[Rewrite]:
    """Return one renaming for each name that is not renamed yet."""
    found = []
    for name in NAMES:
        places = [at for at, letter in enumerate(text) if letter == name and not text[at + 1].isalnum()]
        places = [at for at in places if not text[at - 1].isalnum()]
        edits = tuple(TextEdit(at, at + 1, f"{name}_renamed") for at in places)
        found.append(Rewrite(kind=f"rename {name}", function="f", line=1, edits=edits))
    return [each for each in found if each.edits]


async def accept(text: str) -> str:
    return ""


def time_call(text: str) -> float:
    """Return the seconds of one call."""
    space: dict[str, Any] = {}
    exec(compile(text, "candidate", "exec"), space)
    before = time.perf_counter()
    space["f"](ITEMS)
    return time.perf_counter() - before


async def measure(text: str, runs: PairedRuns, pairs: int) -> None:
    """Add pairs of calls, the first of them in turns; one for a first look."""
    for _ in range(max(pairs, 1)):
        order = (TEXT, text) if len(runs.pairs) % 2 else (text, TEXT)
        values = {each: time_call(each) for each in order}
        runs.pairs.append((values[TEXT], values[text]))


def search() -> tuple[Search, Claim | None]:
    made = Search(
        propose=propose, inspect=accept, judge=accept, approve=accept, measure=measure,
        create_runs=lambda: PairedRuns(goal="min"), seconds=60,
    )  # fmt: skip
    return made, asyncio.run(made.run(TEXT))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    claims, screened, candidates = 0, 0, 0
    for _ in range(runs):
        made, claim = search()
        claims += claim is not None
        candidates += len(made.tried)
        screened += any(each.gain >= 1.02 for each in made.tried)
    interval = compute_wilson_interval(runs, claims)
    print(
        "| runs | candidates | runs in which one looked 2 % faster | claims | share | 95 % interval | limit |"
    )
    print("|--:|--:|--:|--:|--:|---|--:|")
    print(
        f"| {runs} | {candidates} | {screened} | {claims} | {claims / runs:.1%} |"
        f" {interval[0]:.1%} to {interval[1]:.1%} | {ALPHA:.0%} |"
    )


if __name__ == "__main__":
    main()
