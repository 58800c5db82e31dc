"""Loops and stagnation that are planted in simulated sessions, and false alarms in clean and in real ones.

`python -m benchmarks.signals [--sessions N] [--seed N] [--show]`; with `--trajectories FILE` (JSON lines, .xz or plain,
of `id` and `history` as SWE-agent writes it) and `--tau-bench FOLDER` (a bare repository of sierra-research/tau-bench)
also the signals of real runs, which are counted among the clean ones.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.signals.planted_sessions import KINDS, list_cases, plant_session, read_files
from benchmarks.signals.real_sessions import read_swe_agent, read_tau_bench
from benchmarks.signals.simulated_worker import Worker
from benchmarks.signals.steps import Step, iterate_events, iterate_signals

STUCK = ("loop", "stagnation", "thrash")
"""Signals that tell the model that it is stuck, while it works."""


def measure_planted(sessions: int, seed: int) -> Iterator[tuple[str, int, float | None]]:
    """Yield kind and period of each planted session, and after how many repeated periods it was seen.

    None: not within two.
    """
    rng = random.Random(seed)
    files = read_files()
    for kind, period in list_cases(sessions):
        session = plant_session(rng, files, kind, period)
        place = find_alarm(session.steps, session.begin)
        yield kind, period, None if place is None else (place - session.begin - period) / period


def find_alarm(steps: Sequence[Step], begin: int) -> int | None:
    """Return the number of the first step after `begin` at which the model would be told that it is stuck."""
    for found in iterate_signals(iterate_events(steps)):
        number = int(found.place[1:])
        if found.name in STUCK and number > begin:
            return number
    return None


def create_clean_sessions(count: int, seed: int) -> Iterator[tuple[str, list[Step]]]:
    """Yield name and steps of clean sessions of the simulated worker."""
    rng = random.Random(seed)
    files = read_files()
    for number in range(count):
        yield f"simulated {number}", Worker(rng, files).work(rng.randrange(10, 80))


class Alarms:
    """Steps of clean sessions in which a signal was seen."""

    def __init__(self) -> None:
        self.sessions = 0
        self.steps = 0
        self.seconds = 0.0
        self.flagged: list[str] = []
        self.kinds: Counter[str] = Counter()

    def add_session(self, name: str, steps: Sequence[Step]) -> None:
        """Look for signals in a session."""
        events = list(iterate_events(steps))
        begun = time.perf_counter()
        found = list(iterate_signals(events))
        self.seconds += time.perf_counter() - begun
        self.sessions += 1
        self.steps += len(steps)
        self.kinds.update(each.name for each in found)
        told: Mapping[str, str] = {each.place: f"{each.name}: {each.detail}" for each in found}
        self.flagged += [f"{name} {place}: {detail}" for place, detail in told.items()]

    def describe(self) -> str:
        """Return the figures as a line."""
        share = len(self.flagged) / max(self.steps, 1)
        cost = self.seconds / max(self.steps, 1) * 1e6
        return (
            f"{self.sessions} sessions, {self.steps} steps, {len(self.flagged)} flagged ({share:.2%})"
            f" {dict(self.kinds)}, {cost:.0f} µs a step"
        )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--trajectories", type=Path)
    parser.add_argument("--tau-bench", type=Path)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    print_planted(list(measure_planted(options.sessions, options.seed)))
    sources: list[tuple[str, Iterator[tuple[str, list[Step]]]]] = []
    read: Callable[[Path], Iterator[tuple[str, list[Step]]]]
    for name, path, read in (
        ("SWE-agent", options.trajectories, read_swe_agent),
        ("tau-bench", options.tau_bench, read_tau_bench),
    ):
        if path is not None:
            sources.append((name, read(path)))
    whole = Alarms()
    for name, sessions in sources:
        _add_source(name, sessions, whole, show=options.show)
    rest = max(options.sessions // 2 - whole.sessions, 0)
    _add_source("simulated", create_clean_sessions(rest, options.seed + 1), whole, show=options.show)
    print(f"clean, all: {whole.describe()}")


def print_planted(results: Sequence[tuple[str, int, float | None]]) -> None:
    """Print how many were seen within two periods, within one, and by kind and period."""
    seen = [each for *_, each in results if each is not None]
    soon = sum(each <= 1 for each in seen)
    share = len(seen) / len(results)
    print(f"planted: {len(seen)} of {len(results)} seen within two periods ({share:.1%}), {soon} within one")
    for kind in KINDS:
        rows = [(period, each) for name, period, each in results if name == kind]
        cells = [
            f"{period}: {sum(1 for one, each in rows if one == period and each is not None)}"
            f"/{sum(1 for one, _ in rows if one == period)}"
            for period in sorted({period for period, _ in rows})
        ]
        print(f"  {kind:16} {'  '.join(cells)}")


def _add_source(name: str, sessions: Iterator[tuple[str, list[Step]]], whole: Alarms, *, show: bool) -> None:
    alarms = Alarms()
    for session, steps in sessions:
        alarms.add_session(session, steps)
        whole.add_session(session, steps)
    print(f"clean, {name}: {alarms.describe()}")
    for each in alarms.flagged if show else ():
        print(f"  {each}")


if __name__ == "__main__":
    main()
