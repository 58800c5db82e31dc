"""Micro-steps by simulation: the command's own votes and estimate, voters with known faults, long runs.

    python -m benchmarks.microsteps [--runs 100] [--steps 10000] [--seed 1]

Each run samples its steps, chooses k and estimates the votes as `patchwright migrate` does, then decides every step by
`Election`. A check stops a wrong step: the last kind of voters shows it, and counts what is neither right nor stopped.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from packages.search.microsteps.election import Election
from packages.search.microsteps.estimate import (
    SampledStep,
    choose_sample,
    choose_sample_votes,
    estimate_votes,
)

Step = tuple[float, int, float, float]
"""A step: share of right answers, number of rivals, malformed share of right and of wrong answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Voters:
    """A kind of voters. make: draws a step"""

    name: str
    make: Callable[[random.Random], Step]


def _mix(draw: random.Random, part: float, hard: float, easy: float) -> float:
    """Return `hard` for a part of the steps."""
    return hard if draw.random() < part else easy


KINDS = (
    Voters(name="0.70, one wrong answer", make=lambda draw: (0.70, 1, 0.0, 0.0)),
    Voters(name="0.80, one wrong answer", make=lambda draw: (0.80, 1, 0.0, 0.0)),
    Voters(name="0.90, one wrong answer", make=lambda draw: (0.90, 1, 0.0, 0.0)),
    Voters(name="0.99, one wrong answer", make=lambda draw: (0.99, 1, 0.0, 0.0)),
    Voters(name="0.80, three wrong answers", make=lambda draw: (0.80, 3, 0.0, 0.0)),
    Voters(name="0.90, 20 % malformed", make=lambda draw: (0.90, 1, 0.2, 0.2)),
    Voters(name="0.85, wrong ones often malformed", make=lambda draw: (0.85, 1, 0.05, 0.5)),
    Voters(name="0.70 to 0.99, evenly", make=lambda draw: (draw.uniform(0.70, 0.99), 1, 0.05, 0.05)),
    Voters(name="0.98, one step in 100 0.70", make=lambda draw: (_mix(draw, 0.01, 0.70, 0.98), 1, 0.02, 0.02)),
    Voters(name="0.90, one step in 20 0.35", make=lambda draw: (_mix(draw, 0.05, 0.35, 0.90), 1, 0.0, 0.0)),
)  # fmt: skip


HEADS = (
    "voters right with",
    "k",
    "runs that elect no wrong answer",
    "stopped by the check",
    "never decided",
    "votes a step",
    "estimate within 15 %",
    "off by, at most in 95 of 100",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Result of a run. wrong: steps that elected a wrong answer; undecided: steps without a winner"""

    k: int
    wrong: int
    undecided: int
    votes: int
    estimated: float


def main() -> None:
    """Print one row for each kind of voters."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="kinds whose name has this text")
    given = parser.parse_args()
    print(f"| {' | '.join(HEADS)} |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for kind in KINDS:
        if given.only in kind.name:
            print(measure_kind(kind, runs=given.runs, steps=given.steps, seed=given.seed), flush=True)


def measure_kind(kind: Voters, *, runs: int, steps: int, seed: int) -> str:
    """Return the row of one kind of voters."""
    started = time.monotonic()
    found = [play_run(kind, steps, random.Random(f"{seed}/{kind.name}/{number}")) for number in range(runs)]
    errors = sorted(abs(each.estimated / each.votes - 1) for each in found)
    clean = sum(each.wrong == 0 for each in found)
    within = sum(each <= 0.15 for each in errors)
    ks = [each.k for each in found]
    votes = statistics.mean(each.votes for each in found) / steps
    wrong = sum(each.wrong for each in found)
    undecided = sum(each.undecided for each in found)
    seconds = time.monotonic() - started
    cells = (
        kind.name,
        f"{min(ks)}–{max(ks)}",
        f"{clean} of {runs}",
        f"{wrong}",
        f"{undecided}",
        f"{votes:.1f}",
        f"{within} of {runs}",
        f"{errors[int(0.95 * (len(errors) - 1))]:.1%}",
    )
    print(f"{kind.name}: {seconds:.0f} s", file=sys.stderr)
    return f"| {' | '.join(cells)} |"


def play_run(kind: Voters, count: int, draw: random.Random) -> Run:
    """Sample, estimate and decide `count` steps. The sample's votes count for their steps, as in the command."""
    steps = [kind.make(draw) for _ in range(count)]
    sampled = {}
    for position in choose_sample([0] * count):
        election = sampled[position] = Election(0)
        for _ in range(choose_sample_votes(count)):
            election.add_vote(draw_vote(draw, steps[position]))
    estimate = estimate_votes([SampledStep.from_election(each) for each in sampled.values()], count)
    wrong = undecided = votes = 0
    for position, step in enumerate(steps):
        election = sampled.get(position) or Election(estimate.k)
        election.k = estimate.k
        while election.winner is None and not election.is_hopeless:
            election.add_vote(draw_vote(draw, step))
        votes += election.size
        undecided += election.winner is None
        wrong += election.winner not in (None, "right")
    return Run(k=estimate.k, wrong=wrong, undecided=undecided, votes=votes, estimated=estimate.votes)


def draw_vote(draw: random.Random, step: Step) -> str | None:
    """Draw one answer."""
    right, rivals, malformed_right, malformed_wrong = step
    is_right = draw.random() < right
    if draw.random() < (malformed_right if is_right else malformed_wrong):
        return None
    return "right" if is_right else f"wrong {draw.randrange(rivals) if rivals > 1 else 0}"


if __name__ == "__main__":
    main()
