"""Sessions in which work gets stuck: a loop or a stagnation of a known period, exact or near, after clean work."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.monitor.signals.signal_detectors import LONGEST_PERIOD
from benchmarks._measure import CHECKOUT
from benchmarks.signals.simulated_worker import LEAST_LINES, PAGE, Look, Worker
from benchmarks.signals.steps import Step

KINDS = ("loop", "near loop", "stagnation", "near stagnation")
"""A loop asks for the same again, exactly or nearly; a stagnation has the same results, or nearly, of other actions."""

ROUNDS = 3
"""Times that the planted steps are taken: once as they are new, and two periods more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedSession:
    """A session that gets stuck. begin: number of clean steps before it; the first round is new, the others are not"""

    kind: str
    period: int
    begin: int
    steps: Sequence[Step]


def read_files() -> Mapping[str, Sequence[str]]:
    """Read the modules of this project that are long enough to be read in pages."""
    found = {}
    for folder in ("agent", "cli", "sandbox", "tools"):
        for path in sorted((CHECKOUT / folder).rglob("*.py")):
            lines = path.read_text("utf-8").splitlines()
            if len(lines) > 2 * PAGE:
                found[path.relative_to(CHECKOUT).as_posix()] = lines
    return found


def plant_session(
    rng: random.Random, files: Mapping[str, Sequence[str]], kind: str, period: int
) -> PlantedSession:
    """Create a session that gets stuck after 5 to 40 clean steps."""
    worker = Worker(rng, files)
    work = worker.work(rng.randrange(5, 40))
    looks = create_looks(rng, worker, kind, period)
    again = {"loop": "", "near loop": "near", "stagnation": "other", "near stagnation": "other"}[kind]
    steps = list(work)
    for number in range(ROUNDS):
        for look in looks:
            step = look(again if number else "")
            steps.append(vary_result(rng, step) if number and kind == "near stagnation" else step)
    return PlantedSession(kind=kind, period=period, begin=len(work), steps=steps)


def create_looks(rng: random.Random, worker: Worker, kind: str, period: int) -> list[Look]:
    """Create the steps of a period: looks, and in some loops a command that fails, or an edit and its undoing."""
    if "stagnation" in kind:
        return worker.create_looks(period, least_lines=LEAST_LINES)
    special: list[Look] = []
    if rng.random() < 0.25:
        special.append(worker.create_failing_look())
    if period - len(special) >= 2 and rng.random() < 0.25:
        special.extend(worker.create_undone_edit())
    return special + worker.create_looks(period - len(special))


def vary_result(rng: random.Random, step: Step) -> Step:
    """Return a step whose result differs in a few lines: a warning more, a line less."""
    lines = step.output.splitlines()
    if len(lines) > 2 * LEAST_LINES:
        del lines[rng.randrange(len(lines))]
        lines.append(f"warning: took {rng.random():.2f} s")
    return step._replace(output="\n".join(lines))


def list_cases(count: int) -> list[tuple[str, int]]:
    """Return kind and period of that many sessions: each kind with each period, equally often."""
    return [
        (KINDS[number // LONGEST_PERIOD % len(KINDS)], 1 + number % LONGEST_PERIOD) for number in range(count)
    ]
