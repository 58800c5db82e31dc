"""`tree` and `evolve` against best-of-N at equal cost, on programs with two or three faults.

Programs of DebugBench (double and triple), with tests made of their published examples and inputs changed from these. A
simulated author makes as many moves an attempt as there are faults, and stops where all tests pass. A move is, with a
stated chance, one of the hunks that lead to the right program, else a change of the offline engine's templates. Each
attempt costs the same, and each strategy has as many. The trees, values and populations are those of the strategies;
only the sessions are simulated. Progress is visible where one right hunk alone mends a test.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from random import Random
from statistics import mean
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from agent.evaluation.suites.built_task import compute_half, make_task_name
from agent.evaluation.suites.programs import debugbench
from agent.evaluation.suites.programs.program_answers import agree_all, compute_answers
from agent.evaluation.suites.programs.varied_inputs import vary_arguments
from agent.evaluation.suites.scratch_workspace import open_scratch
from agent.exit_codes import Exit
from agent.strategy.candidate import Candidate
from agent.strategy.failure_classes import FailureEvidence, classify_failure
from agent.strategy.refinement import Step, choose_remedy
from agent.strategy.search.evolve_strategy import Evolution
from agent.strategy.search.progress import has_progress, measure_progress
from agent.strategy.search.search_tree import SearchTree
from agent.strategy.search.search_work import _RAN, AT_ONCE
from agent.strategy.search.tree_strategy import make_round
from benchmarks.verification.pools import find_repository, read_blob
from tools.repair.engine.candidates.candidate_generation import generate_candidates
from tools.repair.localize.statement_ranking import Suspect
from tools.repair.templates.support.source_tree import Source
from tools.repair.templates.support.template_site import Hints

if TYPE_CHECKING:
    from tools.core.workspace import Workspace

Moves = frozenset[tuple[str, int]]
"""Changes made so far: ("right" or "wrong", place in the list of these)."""

SECONDS = 0.5
"""Of a processor for one call."""

MOST_WRONG = 12
"""Template changes of a program among which the author errs."""


@dataclass(slots=True, kw_only=True)
class World:
    """One program: its hunks from the faulty to the right text, wrong changes, and tests. at: that it runs in"""

    at: Workspace
    name: str
    entry: str
    faulty: Sequence[str]
    hunks: Sequence[tuple[int, int, Sequence[str]]]
    wrong: Sequence[tuple[int, int, Sequence[str]]]
    inputs: Sequence[Any]
    expected: Sequence[Any]
    _known: dict[Moves, list[tuple[bool, str]]] = field(default_factory=dict)

    def build_text(self, moves: Moves) -> str | None:
        """Return the text after some moves; None where two of them change the same lines."""
        chosen = sorted((self.hunks if kind == "right" else self.wrong)[place] for kind, place in moves)
        if any(one[1] > other[0] for one, other in pairwise(chosen)):
            return None
        lines = list(self.faulty)
        for first, last, new in reversed(chosen):
            lines[first:last] = new
        return "".join(lines)

    def run_tests(self, moves: Moves) -> list[tuple[bool, str]]:
        """Return whether each test passes after some moves, with its message; all fail where moves conflict."""
        if moves not in self._known:
            text = self.build_text(moves)
            found = _run_program(self.at, text, self.entry, self.inputs) if text is not None else []
            found = found or [{"error": "conflict"}] * len(self.expected)
            self._known[moves] = [
                (agree_all([{"value": want}], [got]), repr(got)[:200])
                for want, got in zip(self.expected, found, strict=True)
            ]
        return self._known[moves]

    def passes(self, moves: Moves) -> bool:
        """Return whether all tests pass after some moves."""
        return all(passed for passed, _ in self.run_tests(moves))

    @property
    def shows_progress(self) -> bool:
        """Whether one right hunk alone mends a test."""
        before = sum(passed for passed, _ in self.run_tests(frozenset()))
        alone = [self.run_tests(frozenset({("right", place)})) for place in range(len(self.hunks))]
        return any(sum(passed for passed, _ in each) > before for each in alone)

    def build_report(self, moves: Moves) -> dict[str, Any]:
        """Return the tests' report as a suite gives it."""
        found = self.run_tests(moves)
        failures = [
            {"id": f"test_{place}", "message": f"assert {message}"}
            for place, (passed, message) in enumerate(found)
            if not passed
        ]
        passed = len(found) - len(failures)
        return {"outcome": "failed" if failures else "passed", "passed": passed, "failures": failures}


def _run_program(at: Workspace, text: str, entry: str, inputs: Sequence[Any]) -> list[Any]:
    """Return a program's answers, from a thread: the sandbox has an event loop of its own."""
    with ThreadPoolExecutor(1) as pool:
        return list(pool.submit(compute_answers, at, text, entry, inputs, SECONDS).result())


def read_worlds(at: Workspace, mirrors: Path, number: int, seed: int) -> Iterator[World]:
    """Yield programs of the development half with two or three faults that tests tell from the right one."""
    repository = find_repository(mirrors, "thunlp/DebugBench")
    records = [
        each
        for kind in ("double", "triple")
        for each in json.loads(read_blob(repository, f"benchmark/python3_{kind}.json"))
        if compute_half(each["slug"]) == "development"
    ]
    Random(seed).shuffle(records)
    yield from islice(filter(None, (_build_world(at, each) for each in records)), number)


def _build_world(at: Workspace, record: Mapping[str, Any]) -> World | None:
    program = debugbench._read_program("multiple", record)
    if program is None:
        return None
    faulty, right = program.buggy.splitlines(keepends=True), program.right.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, faulty, right, autojunk=False)
    hunks = [(a, b, tuple(right[c:d])) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]
    if len(hunks) not in (2, 3):
        return None
    name = make_task_name(record["slug"], debugbench._digest(record["buggy_code"]))
    draw = Random(name)
    made = [vary_arguments(draw, program.inputs) for _ in range(30)]
    inputs = list({json.dumps(each): each for each in [*program.inputs, *made]}.values())
    said = _run_program(at, program.right, program.entry, inputs)
    useful = [(one, each["value"]) for one, each in zip(inputs, said, strict=True) if "value" in each][:12]
    if len(useful) < 8:
        return None
    world = World(
        at=at,
        name=name,
        entry=program.entry,
        faulty=faulty,
        hunks=hunks,
        wrong=list(islice(_list_template_changes(program.buggy), MOST_WRONG)),
        inputs=[one for one, _ in useful],
        expected=[value for _, value in useful],
    )
    whole = frozenset(("right", place) for place in range(len(hunks)))
    singles = [world.passes(frozenset({each})) for each in whole]
    if world.passes(frozenset()) or not world.passes(whole) or any(singles):
        return None
    return world if world.wrong else None


def _list_template_changes(text: str) -> Iterator[tuple[int, int, Sequence[str]]]:
    """Yield changes of whole lines that the offline engine's templates make."""
    source = Source("solution.py", text)
    inside = [each for each in source.statements if each.col_offset > 4]
    suspects = [
        Suspect(
            path="solution.py",
            line=each.lineno,
            end_line=each.end_lineno or each.lineno,
            function="",
            code="",
            score=1.0,
            failing=1,
            passing=0,
            statement=each,
        )
        for each in inside
    ]
    lines = text.splitlines(keepends=True)
    for each in generate_candidates(suspects, {"solution.py": source}, Hints()):
        new = text[: each.change.start] + each.change.text + text[each.change.end :]
        changed = new.splitlines(keepends=True)
        matcher = difflib.SequenceMatcher(None, lines, changed, autojunk=False)
        codes = [one for one in matcher.get_opcodes() if one[0] != "equal"]
        if len(codes) == 1:
            _, first, last, start, end = codes[0]
            yield first, last, tuple(changed[start:end])


class SimulatedWork:
    """Attempts of one turn by the simulated author, in place of `SearchWork`."""

    def __init__(self, world: World, attempts: int, skill: float, draw: Random) -> None:
        self.world, self.attempts, self.skill, self.draw = world, attempts, skill, draw
        self.before = world.build_report(frozenset())
        self.moves: dict[int, Moves] = {0: frozenset()}
        self.steps: dict[int, Step] = {}
        self.values: dict[int, float] = {}
        self.candidates: list[Candidate] = []
        self.is_over = self.is_solved = False
        self.last = 0

    @property
    def room(self) -> int:
        return min(self.attempts - self.last, AT_ONCE if self.last else 1)

    def take_number(self) -> int:
        self.last += 1
        return self.last

    def plan_start(self) -> SimpleNamespace:
        return SimpleNamespace(start=frozenset(), moves=None)

    def plan_retry(self, line: Sequence[int], beside: Sequence[int] = ()) -> SimpleNamespace | None:
        if not line or line[-1] not in self.steps:
            return None
        failures = [self.steps[number].failure for number in line if number in self.steps]
        remedy = choose_remedy(failures[-1], failures[:-1])
        if remedy is None:
            return None
        keeps = remedy == "mend" and has_progress(self.values[line[-1]], failures[-1])
        start = self.moves[line[-1]] if keeps else frozenset()
        return SimpleNamespace(start=start, moves=None)

    def make_moves(self, state: Moves) -> Moves:
        """Return the state after one attempt: a right move with the author's skill, where one is left."""
        for _ in self.world.hunks:
            left = [
                ("right", place) for place in range(len(self.world.hunks)) if ("right", place) not in state
            ]
            wrong = ("wrong", self.draw.randrange(len(self.world.wrong)))
            state |= {self.draw.choice(left) if left and self.draw.random() < self.skill else wrong}
            if self.world.passes(state):
                break
        return state

    async def make(self, plans: Mapping[int, SimpleNamespace]) -> list[Candidate]:
        """See `SearchWork.make`."""
        made = []
        for number, plan in plans.items():
            self.moves[number] = plan.moves if plan.moves is not None else self.make_moves(plan.start)
            passes = self.world.passes(self.moves[number])
            code = Exit.DONE if passes else Exit.TESTS_FAIL
            made.append(Candidate(attempt=number, exit_code=int(code), patch="out", files=("solution.py",)))
        return made

    async def value(self, candidate: Candidate, line: Sequence[int]) -> float:
        after = self.world.build_report(self.moves[candidate.attempt])
        failure = None
        if after["failures"]:
            known = [self.steps[number].failure.signatures for number in line if number in self.steps]
            failure = classify_failure(
                FailureEvidence(
                    exit_code=candidate.exit_code,
                    report=after,
                    before=self.before,
                    files=candidate.files,
                    known=known,
                )
            )
            self.steps[candidate.attempt] = Step(candidate=candidate, failure=failure)
        self.candidates.append(candidate)
        self.is_solved |= failure is None
        self.is_over |= self.is_solved or self.last >= self.attempts
        self.values[candidate.attempt] = measure_progress(candidate, failure, self.before, after)
        return self.values[candidate.attempt]

    def list_failing(self, number: int) -> frozenset[str]:
        step = self.steps.get(number)
        return frozenset(each.id for each in step.failure.signatures) if step is not None else frozenset()

    def list_mended(self, number: int) -> set[str]:
        step = self.steps.get(number)
        if step is None or step.failure.kind not in _RAN:
            return set()
        return {str(each["id"]) for each in self.before["failures"]} - self.list_failing(number)


class SimulatedEvolution(Evolution):
    """Puts states together instead of patches."""

    async def _recombine(self, one: int, other: int) -> Any:
        moves = self._work.moves  # type: ignore[attr-defined]
        return SimpleNamespace(start=frozenset(), moves=moves[one] | moves[other])

    def _revise(self, population: Sequence[int]) -> Any:
        return self._work.plan_start()


async def solve_by_tree(work: SimulatedWork) -> bool:
    """Return whether a tree finds a program that passes."""
    tree = SearchTree()
    while not work.is_over and await make_round(work, tree):  # type: ignore[arg-type]
        pass
    return work.is_solved


async def solve_by_evolution(work: SimulatedWork) -> bool:
    """Return whether a population finds a program that passes."""
    evolution = SimulatedEvolution(work)  # type: ignore[arg-type]
    while not work.is_over and await evolution.make_round():
        pass
    return work.is_solved


async def solve_by_sampling(work: SimulatedWork) -> bool:
    """Return whether one of the independent attempts passes."""
    return any(work.world.passes(work.make_moves(frozenset())) for _ in range(work.attempts))


async def report_repairs(mirrors: Path, programs: int, attempts: int, skill: float, seeds: int) -> None:
    """Print the share of programs that each strategy solves with the same number of attempts."""
    solvers = {"best of N": solve_by_sampling, "tree": solve_by_tree, "evolve": solve_by_evolution}
    rows: list[tuple[bool, dict[str, float]]] = []
    with open_scratch() as at:
        for number, world in enumerate(read_worlds(at, mirrors, programs, 0), 1):
            found = {}
            for name, solve in solvers.items():
                draws = [Random(f"{world.name} {seed}") for seed in range(seeds)]
                found[name] = mean(
                    [await solve(SimulatedWork(world, attempts, skill, each)) for each in draws]
                )
            rows.append((world.shows_progress, found))
            told = "  ".join(f"{name} {value:.0%}" for name, value in found.items())
            print(
                f"{number:3} {world.name:50} {'visible' if world.shows_progress else 'hidden':8} {told}",
                flush=True,
            )
            for visible in (True, False):
                of = [each for shows, each in rows if shows is visible]
                if of:
                    shares = "  ".join(f"{name} {mean(each[name] for each in of):.1%}" for name in solvers)
                    print(f"    {len(of)} programs, progress {'visible' if visible else 'hidden'}: {shares}")
    print(f"{attempts} attempts each, skill {skill}, {seeds} seeds")
