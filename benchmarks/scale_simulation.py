"""Simulate an evaluation on many machines: throughput, waits for a provider's limits, and losses to pre-emption.

    .venv/bin/python -m benchmarks.scale_simulation

A discrete-event simulation of the executor's rules: a trial needs a free slot; each of its calls of the model takes
from one bucket of the cluster; a node that is pre-empted loses its trials, which start anew elsewhere.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass

TRIALS = 10_000
CALLS = 20
"""Calls of a model in a trial."""

CALL_SECONDS = 8.0
"""Mean duration of a call with the action after it, drawn from an exponential distribution."""

NODE_SLOTS = 64
NODE_START = 180.0
"""Seconds until a node that replaces a lost one can run trials: machine, image, first tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row. calls_per_minute: limit of the provider, None without one; life: mean hours of a node, None: for ever"""

    nodes: int
    calls_per_minute: float | None
    life: float | None


@dataclass(slots=True, kw_only=True)
class Outcome:
    """Hours of the run, share of calls lost with their nodes, share of the slots' time spent waiting, lost nodes."""

    hours: float
    lost: float
    waiting: float
    deaths: int


class Bucket:
    """Grants calls at a rate, in the order in which they are asked for; returns when each may be sent."""

    def __init__(self, per_minute: float | None) -> None:
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0

    def reserve(self, now: float) -> float:
        """Return the time at which the next call may be sent."""
        at = max(now, self._next)
        self._next = at + self._interval
        return at


def simulate(case: Case, seed: int = 0) -> Outcome:
    """Run all trials of one case."""
    draw = random.Random(seed)
    bucket = Bucket(case.calls_per_minute)
    events: list[tuple[float, int, str, int, int]] = []
    count = 0

    def schedule(time: float, kind: str, node: int, trial: int = -1) -> None:
        nonlocal count
        count += 1
        heapq.heappush(events, (time, count, kind, node, trial))

    waiting_trials = list(range(TRIALS))[::-1]
    calls_done: dict[int, int] = {}
    running: dict[int, set[int]] = {}
    next_node = 0
    done = lost_calls = all_calls = deaths = 0
    waited = busy = 0.0

    def start_node(now: float) -> None:
        nonlocal next_node
        node, next_node = next_node, next_node + 1
        running[node] = set()
        if case.life is not None:
            schedule(now + draw.expovariate(1 / (case.life * 3600)), "death", node)
        fill(node, now)

    def fill(node: int, now: float) -> None:
        while waiting_trials and len(running[node]) < NODE_SLOTS:
            trial = waiting_trials.pop()
            running[node].add(trial)
            calls_done[trial] = 0
            ask(node, trial, now)

    def ask(node: int, trial: int, now: float) -> None:
        nonlocal waited, busy
        sent = bucket.reserve(now)
        seconds = draw.expovariate(1 / CALL_SECONDS)
        waited += sent - now
        busy += seconds
        schedule(sent + seconds, "reply", node, trial)

    for _ in range(case.nodes):
        start_node(0.0)
    now = 0.0
    while done < TRIALS:
        now, _, kind, node, trial = heapq.heappop(events)
        if kind == "node":
            start_node(now)
        elif kind == "death" and node in running:
            deaths += 1
            for left in running.pop(node):
                lost_calls += calls_done[left]
                waiting_trials.append(left)
            schedule(now + NODE_START, "node", -1)
            for other in running:
                fill(other, now)
        elif kind == "reply" and trial in running.get(node, ()):
            all_calls += 1
            calls_done[trial] += 1
            if calls_done[trial] < CALLS:
                ask(node, trial, now)
            else:
                done += 1
                running[node].discard(trial)
                fill(node, now)
    return Outcome(
        hours=now / 3600, lost=lost_calls / all_calls, waiting=waited / (waited + busy), deaths=deaths
    )


CASES = [
    Case(nodes=nodes, calls_per_minute=limit, life=life)
    for nodes in (16, 157)
    for limit in (None, 10_000.0)
    for life in (None, 2.0, 0.5)
]


def main() -> None:
    """Print the table of the report `2026-11-26-scale-simulation`."""
    columns = (
        "nodes",
        "sandboxes",
        "calls a minute",
        "life of a node",
        "minutes",
        "waiting",
        "nodes lost",
        "calls lost",
    )
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for case in CASES:
        found = simulate(case)
        limit = f"{case.calls_per_minute:,.0f}" if case.calls_per_minute else "no limit"
        life = f"{case.life:g} h" if case.life else "on demand"
        slots = min(TRIALS, case.nodes * NODE_SLOTS)
        print(
            f"| {case.nodes} | {slots:,} | {limit} | {life} | {found.hours * 60:.1f} | {found.waiting:.0%}"
            f" | {found.deaths} | {found.lost:.1%} |"
        )


if __name__ == "__main__":
    main()
