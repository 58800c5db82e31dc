"""Selection among whole programs: checks, generated tests, behaviour on generated inputs, opinions, size."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from agent.verify.verdict import Verdict
from packages.search.programs.behaviour import compute_key, format_key
from packages.search.programs.checks import Check
from packages.search.programs.input_generation import (
    InputPlan,
    collect_literals,
    find_signature,
    generate_inputs,
    iter_smaller_calls,
    measure_unread,
)
from packages.search.programs.program_runner import Program, ProgramRun, ProgramRunner
from packages.search.select.agreement import BehaviourTable, GeneratedTest, find_distinguishing_call
from packages.search.select.levels import BehaviourLevel, SizeLevel, VerdictLevel
from packages.search.select.selection import LEAST_CONFIDENCE, Choice, Level, choose_candidate
from packages.search.select.tournament import Ask, OpinionLevel
from sandbox.lazy_dataclass import dataclass

INPUTS = 60
"""Generated inputs: a second of run time for a quick function; more hardly tell any more programs apart."""

SHRINK_ROUNDS, SHRINK_WIDTH = 8, 60
"""Rounds of shrinking, each of two runs, and simplifications tried in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known about the function.

    checks: must hold; suggested: nobody vouches for these
    inputs: more calls, as text of a literal; task: text of what was to be done
    """

    checks: Sequence[Check] = ()
    inputs: Sequence[str] = ()
    suggested: Sequence[Check] = ()
    task: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Smallest input found for which the best candidate and the next other one differ. function: that was called"""

    call: str
    function: str
    other: int
    result: str
    other_result: str

    def format_question(self) -> str:
        """Return the one question whose answer decides: `total([]): 0 or raises ValueError?`."""
        return f"{self._format_call()}: {self.result} or {self.other_result}?"

    def format_test(self, result: str) -> str:
        """Return the statement of a test that holds one of the two results; "" where it cannot be written as one."""
        if result.startswith("raises "):
            return f"with pytest.raises({result.removeprefix('raises ')}): {self._format_call()}"
        try:
            ast.literal_eval(result)
        except (SyntaxError, ValueError):  # shortened, or an object
            return ""
        return f"assert {self._format_call()} == {result}"

    def _format_call(self) -> str:
        positional, named = ast.literal_eval(self.call)
        given = [*map(repr, positional), *(f"{name}={value!r}" for name, value in named.items())]
        return f"{self.function}({', '.join(given)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSelection:
    """Choice among programs. difference: None if there is no other behaviour; runs, seconds: what it cost"""

    choice: Choice
    difference: Difference | None = None
    runs: int = 0
    seconds: float = 0.0


async def select_program(
    programs: Sequence[Program],
    evidence: Evidence,
    runner: ProgramRunner,
    *,
    ask: Ask | None = None,
    before: Sequence[Level] = (),
    between: Sequence[Level] = (),
    texts: Sequence[str] = (),
    inputs: int = INPUTS,
    seed: int = 0,
    least_confidence: float = LEAST_CONFIDENCE,
) -> ProgramSelection:
    """Choose among programs with a common function.

    before, between: more levels, before the checks and after the behaviour; texts: of the candidates for opinions
    and sizes, if these are not their sources
    """
    calls = plan_calls(programs, evidence, inputs=inputs, seed=seed)
    raw = [each for each in (*evidence.checks, *evidence.suggested) if not each.call]
    runs = await runner.run_programs(programs, calls, [each.text for each in raw])
    table = BehaviourTable(calls=calls, keys=[[compute_key(each) for each in run.calls] for run in runs])
    judge = CheckJudge(table=table, raw={each.text: place for place, each in enumerate(raw)}, runs=runs)
    behaviour = BehaviourLevel(
        table=table,
        tests=judge.rate_suggested(evidence.suggested),
        unread=[measure_unread(each.source, each.function) for each in programs],
    )
    shown = texts or [each.source for each in programs]
    levels: list[Level] = [*before]
    if evidence.checks:
        levels.append(judge.build_level(evidence.checks))
    levels += [behaviour, *between]
    if ask is not None:
        levels.append(OpinionLevel(texts=shown, ask=ask, task=evidence.task))
    levels.append(SizeLevel(sizes=[len(each.splitlines()) for each in shown]))
    choice = await choose_candidate(len(programs), levels, least_confidence=least_confidence)
    difference = await _find_difference(programs, table, choice, runner)
    return ProgramSelection(choice=choice, difference=difference, runs=runner.runs, seconds=runner.seconds)


def plan_calls(programs: Sequence[Program], evidence: Evidence, *, inputs: int, seed: int) -> list[str]:
    """Return the inputs: those of the checks, then generated ones."""
    checked = [each.call for each in (*evidence.checks, *evidence.suggested) if each.call]
    seeds = list(dict.fromkeys([*checked, *evidence.inputs]))
    sources = [each.source for each in programs if each.source]
    plan = InputPlan(given=seeds, literals=collect_literals(sources), most=inputs, seed=seed)
    return [*seeds, *generate_inputs(plan, find_signature(sources, programs[0].function))]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckJudge:
    """Judges checks by the results of the runs: values are compared here, where no program can reach them."""

    table: BehaviourTable
    raw: dict[str, int]
    runs: Sequence[ProgramRun]

    def holds(self, check: Check, candidate: int) -> bool:
        """Return whether a check holds for a candidate."""
        if check.call:
            return self.table.keys[candidate][self.table.calls.index(check.call)] == check.expected
        return self.runs[candidate].checks[self.raw[check.text]]

    def rate_suggested(self, checks: Sequence[Check]) -> list[GeneratedTest]:
        """Return the checks as generated tests."""
        members = range(len(self.runs))
        return [
            GeneratedTest(text=each.text, passed=[self.holds(each, one) for one in members], count=each.count)
            for each in checks
        ]

    def build_level(self, checks: Sequence[Check]) -> VerdictLevel:
        """Return the level of checks that must hold."""
        failures = [sum(not self.holds(each, one) for each in checks) for one in range(len(self.runs))]
        verdicts = [
            Verdict(
                outcome="fail" if number else "pass",
                evidence="executed",
                name="checks",
                detail=f"{len(checks) - number} of {len(checks)} checks hold",
            )
            for number in failures
        ]
        return VerdictLevel(
            name="checks", verdicts=verdicts, progress=[-float(number) for number in failures]
        )


async def _find_difference(
    programs: Sequence[Program], table: BehaviourTable, choice: Choice, runner: ProgramRunner
) -> Difference | None:
    """Return a small input that tells the best candidate from the next one with another behaviour."""
    for other in choice.ranking[1:]:
        found = find_distinguishing_call(table, choice.best, other)
        if found is not None:
            call, keys = table.calls[found], (table.keys[choice.best][found], table.keys[other][found])
            call, keys = await _shrink_call(programs[choice.best], programs[other], call, keys, runner)
            return Difference(
                call=call,
                function=programs[0].function,
                other=other,
                result=format_key(keys[0]),
                other_result=format_key(keys[1]),
            )
    return None


async def _shrink_call(
    one: Program, other: Program, call: str, keys: tuple[str, str], runner: ProgramRunner
) -> tuple[str, tuple[str, str]]:
    """Return the smallest simplification that still tells two programs apart, with both results."""
    for _ in range(SHRINK_ROUNDS):
        smaller = [each for each in iter_smaller_calls(call) if len(each) < len(call)][:SHRINK_WIDTH]
        if not smaller:
            break
        runs = await runner.run_programs((one, other), smaller)
        results = [tuple(map(compute_key, pair)) for pair in zip(runs[0].calls, runs[1].calls, strict=True)]
        better = [
            (each, (mine, theirs))
            for each, (mine, theirs) in zip(smaller, results, strict=True)
            if mine != theirs and _is_as_clear((mine, theirs), keys)
        ]
        if not better:
            break
        call, keys = better[0]
    return call, keys


def _is_as_clear(found: tuple[str, str], before: tuple[str, str]) -> bool:
    """Return whether no result fails that did not fail for the larger input."""
    return all(
        not each.startswith(("raises ", "<")) or last.startswith(("raises ", "<"))
        for each, last in zip(found, before, strict=True)
    )
