"""`tree` and `evolve` against best-of-N at equal cost, on programs with two or three faults.

A simulated author makes as many moves an attempt as there are faults, runs the tests after each, and stops where all
pass. A move is, with a stated chance, one of the hunks that lead to the right program, else a change of the offline
engine's templates; it replaces earlier ones of the same lines. A search goes on from the best state of an attempt. Each
attempt of the author costs the same, and each strategy has as many; changes that are put together by code cost none.
The trees, populations and their records are those of the strategies; only the sessions are simulated. The n-th attempt
that begins anew is the same for each strategy.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any, Protocol

from agent.exit_codes import Exit
from agent.strategy.candidate import Candidate
from agent.strategy.failure_classes import FailureEvidence, classify_failure
from agent.strategy.progress import find_best_run
from agent.strategy.refinement import Step, choose_remedy
from benchmarks.search.program_states import Hunk, Moves, World, read_worlds
from packages.evaluation.suites.scratch_workspace import open_scratch
from packages.search.tree.evolve_strategy import Evolution
from packages.search.tree.search_record import SearchRecord
from packages.search.tree.search_tree import SearchTree
from packages.search.tree.tree_strategy import make_round


class Repairable(Protocol):
    """Programs with faults, as an author sees them; see `World`."""

    @property
    def name(self) -> str: ...
    @property
    def hunks(self) -> Sequence[Hunk]: ...
    @property
    def wrong(self) -> Sequence[Hunk]: ...
    def add_move(self, moves: Moves, move: tuple[str, int]) -> Moves: ...
    async def passes(self, moves: Moves) -> bool: ...
    async def is_right(self, moves: Moves) -> bool: ...
    async def build_report(self, moves: Moves) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedPlan:
    """An attempt about to begin. start: state of its files; draw: the author's luck; is_free: no author works on it"""

    start: Moves
    draw: Random
    is_free: bool = False


@dataclass(slots=True, kw_only=True)
class SimulatedWork(SearchRecord[SimulatedPlan]):
    """Attempts of one turn by the simulated author.

    skill: chance of a right move; seed: of this turn; states: of the files after each attempt
    """

    world: Repairable
    skill: float
    seed: str
    states: dict[int, Moves] = field(default_factory=dict)
    _starts: int = 0
    _retries: int = 0

    async def begin(self) -> None:
        self.before = await self.world.build_report(frozenset())

    def plan_start(self) -> SimulatedPlan:
        self._starts += 1
        return SimulatedPlan(start=frozenset(), draw=Random(f"{self.seed} start {self._starts}"))

    def plan_retry(self, line: Sequence[int], beside: Sequence[int] = ()) -> SimulatedPlan | None:
        if not line or line[-1] not in self.steps:
            return None
        failures = [self.steps[number].failure for number in line if number in self.steps]
        remedy = choose_remedy(failures[-1], failures[:-1])
        if remedy is None:
            return None
        if remedy != "mend" or not self.is_promising(line[-1]):
            return self.plan_start()
        return self._go_on(self.states[line[-1]])

    def plan_revision(self, numbers: Sequence[int]) -> SimulatedPlan:
        return self.plan_start()

    async def plan_merge(self, one: int, other: int) -> SimulatedPlan | None:
        state = self.states[one]
        for each in sorted(self.states[other] - state):
            if not state <= (state := self.world.add_move(state, each)):
                return None
        return SimulatedPlan(start=state, draw=Random(0), is_free=True)

    def plan_union(self, one: int, other: int) -> SimulatedPlan:
        return self._go_on(self.states[one])

    async def make(self, planned: Mapping[int, SimulatedPlan]) -> list[Candidate]:
        made = []
        for number, plan in planned.items():
            trail = [plan.start] if plan.is_free else await make_moves(self.world, plan, self.skill)
            reports = [await self.world.build_report(each) for each in trail]
            self.states[number] = trail[find_best_run(reports, self.before)]
            passes = not reports[-1]["failures"]
            code = Exit.DONE if passes else Exit.TESTS_FAIL
            made.append(Candidate(attempt=number, exit_code=int(code), patch="out", files=("solution.py",)))
        return made

    async def value(self, candidate: Candidate, line: Sequence[int]) -> float:
        after = await self.world.build_report(self.states[candidate.attempt])
        step = None
        if after["failures"]:
            known = [self.steps[number].failure.signatures for number in line if number in self.steps]
            evidence = FailureEvidence(
                exit_code=candidate.exit_code,
                report=after,
                before=self.before,
                files=candidate.files,
                known=known,
            )
            step = Step(candidate=candidate, failure=classify_failure(evidence))
        return self.record(candidate, step, after, is_solved=step is None)

    def _go_on(self, state: Moves) -> SimulatedPlan:
        self._retries += 1
        return SimulatedPlan(start=state, draw=Random(f"{self.seed} retry {self._retries}"))


async def make_moves(world: Repairable, plan: SimulatedPlan, skill: float) -> list[Moves]:
    """Return the states after each step of an attempt: a right move with the author's skill, where one is left."""
    state, trail = plan.start, []
    for _ in world.hunks:
        left = [("right", place) for place in range(len(world.hunks)) if ("right", place) not in state]
        wrong = ("wrong", plan.draw.randrange(len(world.wrong)))
        is_right = left and plan.draw.random() < skill
        state = world.add_move(state, plan.draw.choice(left) if is_right else wrong)
        trail.append(state)
        if await world.passes(state):
            break
    return trail


async def solve_by_tree(work: SimulatedWork) -> None:
    """Let a tree search for a program that passes."""
    tree = SearchTree()
    while not work.is_over and await make_round(work, tree):
        pass


async def solve_by_evolution(work: SimulatedWork) -> None:
    """Let a population search for a program that passes."""
    evolution = Evolution(work)
    while not work.is_over and await evolution.make_round():
        pass


async def solve_by_sampling(work: SimulatedWork) -> None:
    """Make independent attempts until one passes."""
    while not work.is_over and work.room > 0:
        (candidate,) = await work.make({work.take_number(): work.plan_start()})
        await work.value(candidate, ())


DRAWS = 2000
"""Of a bootstrap."""

SOLVERS = {"best of N": solve_by_sampling, "tree": solve_by_tree, "evolve": solve_by_evolution}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Shares of one program's seeds: solved by the visible tests, right by the hidden ones, suites run a turn."""

    visible: Mapping[str, float]
    right: Mapping[str, float]
    runs: Mapping[str, float]
    shows_progress: bool
    problem: str

    @property
    def is_design(self) -> bool:
        """Whether its problem is of the half in view while the rules were chosen."""
        return int(self.problem, 16) % 2 == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One turn: whether the visible tests pass, and the hidden ones too; suites run; attempts of the author."""

    solved: bool
    right: bool
    suites: int
    attempts: int


async def make_turn(
    world: Repairable,
    solve: Callable[[SimulatedWork], Awaitable[None]],
    attempts: int,
    skill: float,
    seed: int,
) -> Outcome:
    """Let one strategy make a turn of at most so many attempts."""
    work = SimulatedWork(limit=attempts, world=world, skill=skill, seed=f"{world.name} {seed}")
    await work.begin()
    await solve(work)
    found = [each for each in work.candidates if each.exit_code == Exit.DONE]
    return Outcome(
        solved=bool(found),
        right=bool(found) and await world.is_right(work.states[found[0].attempt]),
        suites=len(work.candidates),
        attempts=work.asked_attempts,
    )


async def measure_world(world: World, attempts: int, skill: float, seeds: int) -> Row:
    """Return what each strategy comes to on one program."""
    visible, right, runs = {}, {}, {}
    for name, solve in SOLVERS.items():
        turns = [await make_turn(world, solve, attempts, skill, seed) for seed in range(seeds)]
        visible[name] = mean(each.solved for each in turns)
        right[name] = mean(each.right for each in turns)
        runs[name] = mean(each.suites for each in turns)
    return Row(
        visible=visible,
        right=right,
        runs=runs,
        shows_progress=await world.shows_progress(),
        problem=world.problem,
    )


async def report_repairs(
    mirrors: Path, cache: Path, programs: int, attempts: int, skill: float, seeds: int
) -> None:
    """Print the share of programs that each strategy solves with the same number of attempts."""
    rows: list[Row] = []
    with open_scratch() as at:
        async for world in read_worlds(at, mirrors, cache, programs):
            try:
                rows.append(await measure_world(world, attempts, skill, seeds))
            finally:
                await world.runner.close()
    problems = len({each.problem for each in rows})
    print(
        f"{attempts} attempts each, skill {skill}, {seeds} seeds, {len(rows)} programs of {problems} problems"
    )
    for half in ("design", "confirm", "all"):
        for kind in ("visible", "hidden", "all"):
            of = [
                each
                for each in rows
                if half in ("all", "design" if each.is_design else "confirm")
                and kind in ("all", "visible" if each.shows_progress else "hidden")
            ]
            if of:
                _print_rows(f"{half}, progress {kind}, {len(of)} programs", of)


def bootstrap_problems(problems: Sequence[str], gains: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of a mean over programs; those of one problem are drawn together."""
    groups: dict[str, list[float]] = {}
    for problem, gain in zip(problems, gains, strict=True):
        groups.setdefault(problem, []).append(gain)
    draw, known = Random(0), list(groups.values())
    means = sorted(
        mean(gain for group in draw.choices(known, k=len(known)) for gain in group) for _ in range(DRAWS)
    )
    return means[int(0.025 * DRAWS)], means[int(0.975 * DRAWS)]


def _print_rows(label: str, rows: Sequence[Row]) -> None:
    print(label)
    for name in SOLVERS:
        parts = []
        for kind in ("visible", "right"):
            base = [getattr(each, kind)["best of N"] for each in rows]
            values = [getattr(each, kind)[name] for each in rows]
            gains = [one - other for one, other in zip(values, base, strict=True)]
            low, high = bootstrap_problems([each.problem for each in rows], gains)
            gain = 100 * (mean(values) - mean(base))
            parts.append(
                f"{kind} {100 * mean(values):5.1f} % ({gain:+5.1f} [{100 * low:+5.1f}, {100 * high:+5.1f}])"
            )
        print(f"  {name:10} {'   '.join(parts)}   {mean(each.runs[name] for each in rows):4.1f} attempts")
