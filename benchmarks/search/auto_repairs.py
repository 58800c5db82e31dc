"""`auto` against each strategy by itself where tests fail before the turn: programs with faults.

Tests of one file fail for a program with several faults, of several files for two or three programs with a fault each.
`auto` decides by its own rules from the report of the suite. A turn is paid in attempts of the author.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from benchmarks.search.joined_programs import JoinedPrograms
from benchmarks.search.program_states import ONE, World, read_worlds
from benchmarks.search.repairs import (
    Outcome,
    Repairable,
    bootstrap_problems,
    make_turn,
    solve_by_evolution,
    solve_by_sampling,
    solve_by_tree,
)
from packages.evaluation.suites.scratch_workspace import open_scratch
from packages.search.auto_strategy import choose_strategy, describe_tests
from tools.core.workspace import Workspace

STRATEGIES = {
    "single": solve_by_sampling,
    "sample": solve_by_sampling,
    "tree": solve_by_tree,
    "evolve": solve_by_evolution,
}
"""Those that `auto` may choose here; `single` makes one attempt."""

SIZES = (2, 3)
"""Programs of a task whose tests fail in several files. Each program is in a task of each size."""


async def report_auto_repairs(
    mirrors: Path, cache: Path, programs: int, attempts: int, skill: float, seeds: int
) -> None:
    """Print what each strategy and `auto` come to on tasks of one file and of several."""
    with open_scratch() as at:
        one = [
            await measure_task(world, world.problem, attempts, skill, seeds)
            async for world in _close_each(read_worlds(at, mirrors, cache, programs))
        ]
        _print_rows(f"tests of one file fail: {len(one)} programs, {seeds} seeds, {attempts} attempts", one)
        several = [
            await measure_task(world, world.name, attempts, skill, seeds)
            async for world in _join_programs(at, mirrors, cache, programs)
        ]
        _print_rows(
            f"tests of several files fail: {len(several)} tasks, {seeds} seeds, {attempts} attempts", several
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One task: the choice of `auto`, and the turns of each strategy. problem: of those that are drawn together"""

    problem: str
    chosen: str
    turns: Mapping[str, Sequence[Outcome]]

    def measure_right(self, name: str) -> float:
        """Return the share of a strategy's turns that are right."""
        return mean(each.right for each in self.turns[name])


async def measure_task(world: Repairable, problem: str, attempts: int, skill: float, seeds: int) -> Row:
    """Return what each strategy comes to on one task, and which one `auto` chooses."""
    chosen, _ = choose_strategy(describe_tests(await world.build_report(frozenset())))
    turns = {
        name: [
            await make_turn(world, solve, 1 if name == "single" else attempts, skill, seed)
            for seed in range(seeds)
        ]
        for name, solve in STRATEGIES.items()
    }
    return Row(problem=problem, chosen=chosen, turns=turns)


async def _close_each(worlds: AsyncIterator[World]) -> AsyncIterator[World]:
    async for world in worlds:
        try:
            yield world
        finally:
            await world.runner.close()


async def _join_programs(
    at: Workspace, mirrors: Path, cache: Path, programs: int
) -> AsyncIterator[JoinedPrograms]:
    parts = [world async for world in _close_each(read_worlds(at, mirrors, cache, programs, ONE))]
    for size in SIZES:
        for first in range(0, len(parts) - size + 1, size):
            joined = JoinedPrograms(parts[first : first + size])
            try:
                yield joined
            finally:
                for each in joined.parts:
                    await each.runner.close()


def _print_rows(title: str, rows: Sequence[Row]) -> None:
    print(title)
    if not rows:
        return
    for name in STRATEGIES:
        _print_row(name, [each for row in rows for each in row.turns[name]])
    _print_row("auto", [each for row in rows for each in row.turns[row.chosen]])
    best = max(STRATEGIES, key=lambda name: mean(row.measure_right(name) for row in rows))
    gains = [row.measure_right(row.chosen) - row.measure_right(best) for row in rows]
    low, high = bootstrap_problems([row.problem for row in rows], gains)
    print(f"  auto chose {dict(Counter(row.chosen for row in rows))}", end=", ")
    print(f"{100 * mean(gains):+.1f} [{100 * low:+.1f}, {100 * high:+.1f}] against {best}", flush=True)


def _print_row(name: str, turns: Sequence[Outcome]) -> None:
    right, solved = (100 * mean(getattr(each, kind) for each in turns) for kind in ("right", "solved"))
    attempts, suites = (mean(getattr(each, kind) for each in turns) for kind in ("attempts", "suites"))
    shares = f"{right:5.1f} % right  {solved:5.1f} % by visible tests"
    print(f"  {name:8} {shares}  {attempts:4.2f} attempts  {suites:4.2f} suites")
