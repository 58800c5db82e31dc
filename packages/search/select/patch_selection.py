"""Selection among patches of a project: suite, reproduction, behaviour, static signs, opinions, size."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from agent.verify.verdict import Verdict
from packages.search.programs.program_runner import ProgramRunner
from packages.search.select.changed_functions import (
    collect_project_calls,
    find_common_function,
    list_told_checks,
)
from packages.search.select.levels import SizeLevel, StaticLevel, VerdictLevel
from packages.search.select.patch_trials import NOT_RUN, PatchTrial, apply_patch, run_beside_tests, run_suite
from packages.search.select.program_selection import Evidence, ProgramSelection, select_program
from packages.search.select.selection import LEAST_CONFIDENCE, Level, choose_candidate
from packages.search.select.static_signs import measure_signs
from packages.search.select.tournament import Ask, OpinionLevel
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace
from tools.testing.project_files import Project
from tools.testing.report import TestReport

MOST_PATCHES = 16
"""Patches in one selection: each needs a copy of the project and a run of its suite."""

Reproduce = Callable[[Workspace], Awaitable[Verdict | None]]
"""Runs a kept reproduction in a copy of the project; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchTask:
    """What the patches are for.

    text: of the task; reproduce: see `Reproduce`; seconds: for one run of the suite
    suite: its verdict on each patch where it is known; it is not run then
    """

    text: str = ""
    reproduce: Reproduce | None = None
    seconds: float = 600.0
    suite: Sequence[Verdict] = ()


async def select_patch(
    patches: Sequence[str],
    at: Workspace,
    task: PatchTask,
    *,
    ask: Ask | None = None,
    least_confidence: float = LEAST_CONFIDENCE,
) -> ProgramSelection:
    """Choose among patches, each tried in a copy of the workspace.

    Raises UserError if it cannot be copied, or if a patch cannot be applied whose verdict is known.
    """
    from tools.testing.project_copies import TooLarge, create_copies

    if len(patches) > MOST_PATCHES:
        raise UserError(Fault.USAGE, f"{len(patches)} patches: at most {MOST_PATCHES} can be compared")
    try:
        async with create_copies(at, len(patches) + 1) as [plain, *copies]:
            pairs = zip(patches, copies, strict=True)
            trials = [await apply_patch(text, copy.at, task=task.text) for text, copy in pairs]
            suite = await _judge_by_suite(trials, plain.at, at, task)
            levels = [suite, *await _reproduce(trials, task.reproduce)]
            later = _build_later_levels(trials, task.text)
            return await _select_trial(trials, at, task, (levels, later), ask, least_confidence)
    except TooLarge as problem:
        raise UserError(Fault.USAGE, str(problem)) from None


async def _select_trial(
    trials: Sequence[PatchTrial],
    at: Workspace,
    task: PatchTask,
    levels: tuple[Sequence[Level], Sequence[Level]],
    ask: Ask | None,
    least_confidence: float,
) -> ProgramSelection:
    """Choose with the behaviour of a common changed function if there is one, else without."""
    from tools.testing.python import find_test_python

    before, after = levels
    texts = [each.text for each in trials]
    applied = [each for each in trials if not each.problem]
    function = find_common_function(applied) if len(applied) == len(trials) else None
    python = await find_test_python(at, Project(at)) if function is not None else ""
    if function is not None and python:
        runner = ProgramRunner(sandbox=at.sandbox, folder=at.root, python=python)
        programs = [function.build_program(each, str(number)) for number, each in enumerate(trials)]
        inputs = collect_project_calls(trials[0], function)
        told = list_told_checks(task.text, function)
        evidence = Evidence(checks=told, inputs=[each.call for each in inputs], task=task.text)
        return await select_program(
            programs,
            evidence,
            runner,
            ask=ask,
            before=before,
            between=after,
            texts=texts,
            least_confidence=least_confidence,
        )
    every: list[Level] = [*before, *after]
    if ask is not None:
        every.append(OpinionLevel(texts=texts, ask=ask, task=task.text))
    every.append(SizeLevel(sizes=[each.lines for each in trials]))
    return ProgramSelection(
        choice=await choose_candidate(len(trials), every, least_confidence=least_confidence)
    )


async def _judge_by_suite(
    trials: Sequence[PatchTrial], plain: Workspace, original: Workspace, task: PatchTask
) -> VerdictLevel:
    """Return the level of the suite. plain: a copy without a patch; original: the project"""
    if task.suite:
        if problem := next((each.problem for each in trials if each.problem), ""):
            raise UserError(Fault.USAGE, f"a patch cannot be compared: {problem}")
        return VerdictLevel(name="suite", verdicts=task.suite, confidence=SUITE_CONFIDENCE)
    from tools.testing.suite_run import run_copy

    baseline = await run_copy(plain, task.seconds)
    for trial in trials:
        await run_suite(trial, original.root, task.seconds)
        await run_beside_tests(trial, original, baseline)
    return _build_suite_level(trials, baseline)


def _build_suite_level(trials: Sequence[PatchTrial], baseline: TestReport) -> VerdictLevel:
    verdicts = [each.build_verdict(baseline) for each in trials]
    idle = [each for each in verdicts if each.detail.startswith(NOT_RUN)]
    return VerdictLevel(
        name="suite",
        verdicts=verdicts,
        progress=[each.measure_progress(baseline) for each in trials],
        confidence=SUITE_CONFIDENCE,
        caution=idle[0].detail if len(idle) == len(verdicts) else "",
    )


SUITE_CONFIDENCE = 0.75
"""Share of right ones among candidates that pass a suite which tells candidates apart."""


async def _reproduce(trials: Sequence[PatchTrial], reproduce: Reproduce | None) -> list[VerdictLevel]:
    if reproduce is None:
        return []
    unknown = Verdict(outcome="unknown", evidence="executed", name="reproduction")
    verdicts = [unknown if each.problem else await reproduce(each.at) or unknown for each in trials]
    return [VerdictLevel(name="reproduction", verdicts=[replace(each) for each in verdicts])]


def _build_later_levels(trials: Sequence[PatchTrial], task: str) -> list[Level]:
    verdicts = [
        Verdict(
            outcome="fail" if each.weakened else "pass",
            evidence="static",
            name="weakened-tests",
            detail=f"weakens tests: {each.weakened[0].message}" if each.weakened else "weakens no test",
        )
        for each in trials
    ]
    signs = measure_signs([each.files for each in trials], task)
    return [
        VerdictLevel(name="weakened tests", verdicts=verdicts, evidence="static"),
        StaticLevel(signs=signs),
    ]
