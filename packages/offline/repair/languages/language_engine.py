"""Repair search for other languages: rank functions, try changes in copies, choose the best of the first good ones."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import field, replace
from pathlib import Path

from agent.model.infill.filler import Filler
from packages.offline.infill.filler import FILLER
from packages.offline.repair.engine.candidates.fix_edits import extract_unique_lines
from packages.offline.repair.engine.candidates.ranking import (
    FEW,
    FEW_TESTS,
    FEWEST_RIVALS,
    LESS_NATURAL,
    RIVAL,
    SURE,
    is_unnatural,
)
from packages.offline.repair.languages.call_reach import SuspectFunction, rank_functions
from packages.offline.repair.languages.candidate_pool import CandidatePool
from packages.offline.repair.languages.parsed_source import load_sources
from packages.offline.repair.languages.plausible_change import PlausibleChange, measure_changes
from packages.offline.repair.languages.tree_candidates import Candidate, generate_candidates
from packages.offline.repair.localize.repair_hint import NO_HINT, Hint
from packages.offline.repair.localize.suspicious_place import SuspiciousPlace
from packages.offline.repair.result import Fix, Outcome, RepairResult
from sandbox.fs.repository import find_inner_repository
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace
from tools.testing.project_copies import ProjectCopy, TooLarge, create_copies
from tools.testing.report import TestReport

Progress = Callable[[str], None]

# Number of copies for parallel trials.
JOBS = max(2, min(4, os.cpu_count() or 2))
# Number of functions for which candidates are generated.
MOST_DOUBTS = 12
# Maximum share of the budget for the first run of the tests: copies that were just made are built anew. Share in which
# a model says how natural the changes are that pass: few tests tell them apart.
BASELINE_SHARE, WEIGHING = 0.6, 0.1
# Time limit of a trial: factor on the tests' time before, and seconds added: a change may make them endless.
SLOWER, SLACK = 4.0, 8.0
# After the first change that makes all tests pass, this many more are tried while they are about as likely.
ALTERNATIVES, ALIKE = 8, 0.5
# A partial fix is accepted when this many more candidates, and as many again, contained no full one.
PATIENCE = 24


async def repair(
    at: Workspace, *, targets: Sequence[str], hint: Hint, budget: float, on_progress: Progress
) -> RepairResult:
    """Search for changes after which the project's own test command succeeds; the workspace is not written.

    targets: ids of tests, or files: only failing ones among these are repaired; all failing ones when empty
    """
    deadline = time.monotonic() + budget
    started = time.monotonic()
    try:
        async with create_copies(at, JOBS) as places:
            state = _RepairRun(
                root=at.root,
                places=places,
                targets=targets,
                hint=hint,
                deadline=deadline,
                budget=budget,
                on_progress=on_progress,
                filler=at.facts.get(FILLER),
            )
            result = await state.run()
    except TooLarge as reason:
        return _build_end_result(Outcome.CANNOT_RUN, str(reason))
    return _set_duration(result, time.monotonic() - started)


async def localize_faults(at: Workspace, targets: Sequence[str], seconds: float) -> RepairResult:
    """Return the ranking only."""
    started = time.monotonic()
    try:
        async with create_copies(at, 1) as places:
            state = _RepairRun(
                root=at.root,
                places=places,
                targets=targets,
                deadline=started + seconds,
                budget=seconds,
                on_progress=lambda line: None,
            )
            ended = await state.run_baseline()
            result = ended or state.build_result()
    except TooLarge as reason:
        return _build_end_result(Outcome.CANNOT_RUN, str(reason))
    return _set_duration(result, time.monotonic() - started)


@dataclass(slots=True, kw_only=True)
class _RepairRun:
    """A running repair.

    root: of the workspace that was copied
    filler: the model that fills in lines, where there is one
    overlay: whole texts of the files fixed so far; report: outcomes of the tests with them
    """

    root: Path
    places: Sequence[ProjectCopy]
    targets: Sequence[str]
    deadline: float
    budget: float
    on_progress: Progress
    hint: Hint = NO_HINT
    filler: Filler | None = None
    overlay: dict[str, str] = field(default_factory=dict)
    fixes: list[Fix] = field(default_factory=list)
    others: list[tuple[Fix, ...]] = field(default_factory=list)
    failing: tuple[str, ...] = ()
    unsteady: tuple[str, ...] = ()
    report: TestReport = field(init=False)
    doubts: list[SuspectFunction] = field(default_factory=list)
    tried: int = 0

    async def run(self) -> RepairResult:
        ended = await self.run_baseline()
        if ended is not None:
            return ended
        while self._list_wanted_ids(self.report):
            found = await self._find_change()
            if found is None:
                break
            self._keep_change(found)
            self._rank_functions()
        return self.build_result()

    async def run_baseline(self) -> RepairResult | None:
        """Run the tests, twice if there is time, and rank functions; return a result if there is nothing to mend."""
        self.report = await self.places[0].run_tests({}, self.budget * BASELINE_SHARE)
        ended = self._find_early_result()
        if ended is not None:
            return ended
        left = self.deadline - time.monotonic()
        again = self.report
        if self.report.duration < left / 3:
            again = await self.places[0].run_tests({}, left / 2)
        first, second = _collect_failed_ids(self.report), _collect_failed_ids(again)
        self.unsteady = tuple(sorted(first ^ second))
        if not first & second:
            names = ", ".join(self.unsteady[:5])
            return _build_end_result(
                Outcome.UNSTEADY,
                f"no test fails steadily; these do not come out the same each time: {names}",
                unsteady=self.unsteady,
            )
        self.report = again if again.duration < self.report.duration else self.report
        self.failing = tuple(sorted(self._list_wanted_ids(self.report)))
        self._rank_functions()
        return None if self.doubts else self.build_result()

    def _find_early_result(self) -> RepairResult | None:
        report = self.report
        said = report.note or f"{report.runner} ended with no result"
        known = {
            "no-runner": (Outcome.CANNOT_RUN, report.note),
            "no-tests": (Outcome.NO_TESTS, "no test was run"),
            "unverified": (Outcome.CANNOT_RUN, said),
            "timeout": (Outcome.CANNOT_RUN, f"the tests did not end in time: {said}"),
            "passed": (Outcome.ALL_PASS, "all tests pass"),
            "broken": (Outcome.IMPORT_ERROR, f"the tests could not be built or loaded: {said}"),
        }
        if report.outcome in known:
            outcome, reason = known[report.outcome]
            return _build_end_result(outcome, reason)
        if not self._list_wanted_ids(report):
            names = ", ".join(self.targets)
            return _build_end_result(Outcome.ALL_PASS, f"no test that fails is called {names}")
        return None

    def _list_wanted_ids(self, report: TestReport) -> frozenset[str]:
        """Return the failing tests to be repaired."""
        ids = _collect_failed_ids(report) - set(self.unsteady)
        places = {each.id: each.file for each in report.failures}
        return frozenset(
            name
            for name in ids
            if not self.targets
            or any(name == t or name.startswith(t) or places.get(name) == t for t in self.targets)
        )

    def _rank_functions(self) -> None:
        codes = load_sources(self.places[0].at.root, self.overlay)
        wanted = [each for each in self.report.failures if each.id in self._list_wanted_ids(self.report)]
        found = rank_functions(codes, wanted, self.report.output)
        weighed = [
            replace(each, score=each.score * self.hint.weigh_place(each.code.path, each.function.name))
            for each in found
            if not find_inner_repository(self.root, each.code.path)
        ]
        self.doubts = sorted(weighed, key=lambda each: -each.score)

    # ── search ───────────────────────────────────────────────────────────────────────────────────

    async def _find_change(self) -> PlausibleChange | None:
        """Return the best change found in time."""
        self.on_progress(
            f"searching: {len(self._list_wanted_ids(self.report))} failing tests,"
            f" {len(self.doubts)} suspicious functions"
        )
        waiting = CandidatePool(
            generate_candidates(self.doubts[:MOST_DOUBTS], self.hint), self._iterate_fillings()
        )
        good: list[PlausibleChange] = []
        try:
            async with asyncio.TaskGroup() as group:
                for place in self.places:
                    group.create_task(self._try_candidates(place, waiting, good))
        finally:
            await waiting.close()
        good = self._select_reachable(good)
        if self.filler is not None:
            good = await measure_changes(self.filler, good, self.deadline - time.monotonic())
        best = min(good, key=lambda each: each.preference, default=None)
        if best is not None:
            self.others += [
                (self._build_fix(each, len(good) - 1),)
                for each in sorted(good, key=lambda each: each.preference)
                if each is not best and len(each.helped) == len(best.helped)
            ]
        return best

    def _iterate_fillings(self) -> AsyncIterator[Candidate] | None:
        if self.filler is None:
            return None
        from packages.offline.infill.filled_lines import iterate_filled_candidates, read_failing_test

        wanted = self._list_wanted_ids(self.report)
        failure = next((each for each in self.report.failures if each.id in wanted), None)
        codes = load_sources(self.places[0].at.root, self.overlay)
        beside = read_failing_test(codes, failure) if failure is not None else []
        return iterate_filled_candidates(self.filler, self.doubts, beside, self._compute_time_left)

    def _compute_time_left(self) -> float:
        """Return the seconds for the search; the model has the rest for its word on what passes."""
        kept = WEIGHING * self.budget if self.filler is not None else 0.0
        return self.deadline - kept - time.monotonic()

    async def _try_candidates(
        self, place: ProjectCopy, waiting: CandidatePool, good: list[PlausibleChange]
    ) -> None:
        """Try candidates until no better one can follow."""
        wanted = self._list_wanted_ids(self.report)
        seconds = self.report.duration * SLOWER + SLACK
        async for candidate in waiting:
            left = self._compute_time_left()
            if left <= 0 or not self._is_in_reach(candidate, good, len(wanted)):
                return
            self.tried += 1
            texts = {**self.overlay, candidate.doubt.code.path: candidate.after}
            report = self._accept_exit_status(await place.run_tests(texts, min(seconds, left)))
            helped = wanted - _collect_failed_ids(report)
            if helped and self._breaks_nothing(report):
                good.append(PlausibleChange(candidate=candidate, helped=helped, report=report))
                self.on_progress(
                    f"{candidate.doubt.code.path}:{candidate.change.line}: {candidate.change.why}"
                )

    def _accept_exit_status(self, report: TestReport) -> TestReport:
        """Return the report of a trial as passed if it is unverified for a reason that held for the failing run too:
        nothing was counted, or another suite could not be run. Tests that are lost are found by `_breaks_nothing`.
        """
        is_alike = (report.runner, report.counted) == (self.report.runner, self.report.counted)
        return replace(report, outcome="passed") if report.outcome == "unverified" and is_alike else report

    def _select_reachable(self, good: Sequence[PlausibleChange]) -> list[PlausibleChange]:
        """Return the changes that a sequential search would have found, whatever the speed of the copies."""
        wanted, known = len(self._list_wanted_ids(self.report)), list[PlausibleChange]()
        for each in sorted(good, key=lambda each: each.candidate.rank):
            if self._is_in_reach(each.candidate, known, wanted):
                known.append(each)
        return known

    def _breaks_nothing(self, report: TestReport) -> bool:
        if not report.counted:
            return report.outcome == "passed"
        if report.outcome not in ("passed", "failed") or report.errors > self.report.errors:
            return False
        new = _collect_failed_ids(report) - _collect_failed_ids(self.report) - set(self.unsteady)
        lost = self.report.passed - report.passed
        return (
            not new
            and lost <= len(self.unsteady)
            and report.skipped <= self.report.skipped
            and report.collected >= self.report.collected
        )

    def _is_in_reach(self, candidate: Candidate, good: Sequence[PlausibleChange], wanted: int) -> bool:
        """Return whether the candidate could still be chosen."""
        full = [each.candidate for each in good if len(each.helped) == wanted]
        if full:
            first = min(full, key=lambda each: each.rank)
            most = ALTERNATIVES if first.rule.precision >= SURE else ALTERNATIVES * 4
            return candidate.rank <= first.rank + most and candidate.priority >= first.priority * ALIKE
        part = min((each.candidate.rank for each in good), default=None)
        return part is None or candidate.rank <= PATIENCE + 2 * part

    # ── results ──────────────────────────────────────────────────────────────────────────────────

    def _keep_change(self, found: PlausibleChange) -> None:
        self.fixes.append(self._build_fix(found, len(self.others), self._find_contesting_place(found)))
        self.overlay[found.candidate.doubt.code.path] = found.candidate.after
        self.report = found.report

    def _find_contesting_place(self, found: PlausibleChange) -> str:
        """Return path and line where another change passes as well, if few tests and no model tell them apart."""
        own = found.candidate.doubt.code.path, found.candidate.change.line
        if found.report.passed >= FEW_TESTS or (found.naturalness is not None and found.naturalness > 0):
            return ""
        rivals = (
            fix for (fix,) in self.others if found.helped & set(fix.tests) and (fix.path, fix.line) != own
        )
        return next((f"{fix.path}:{fix.line}" for fix in rivals), "")

    def _build_fix(self, found: PlausibleChange, rivals: int, rival: str = "") -> Fix:
        candidate, code = found.candidate, found.candidate.doubt.code
        old, new = extract_unique_lines(code.text, candidate.after)
        few = FEW if found.report.passed < FEW_TESTS else 1.0
        few *= LESS_NATURAL if is_unnatural(found.naturalness) else 1.0
        sure = candidate.rule.precision * few * max(FEWEST_RIVALS, RIVAL**rivals)
        name = candidate.doubt.function.name
        return Fix(
            path=code.path,
            line=candidate.change.line,
            function=name,
            old=old,
            new=new,
            template=candidate.rule.name,
            why=f"{candidate.change.why} in {name}, line {candidate.change.line}",
            tests=tuple(sorted(found.helped)),
            confidence=round(sure, 2),
            doubt=f"a change at {rival} passes the same tests" if rival else "",
        )

    def build_result(self) -> RepairResult:
        left = sorted(self._list_wanted_ids(self.report)) if self.report.outcome != "passed" else []
        if not left:
            outcome, reason = Outcome.FIXED, "every failing test passes with these changes"
        elif self.fixes:
            outcome, reason = Outcome.PARTLY_FIXED, f"{len(left)} tests still fail"
        elif not self.doubts:
            outcome, reason = Outcome.NOT_COVERED, "the failing tests name no function of the project"
        else:
            outcome, reason = Outcome.NOT_FOUND, "no small change makes the failing tests pass"
        messages = {each.id: next(iter(each.message.splitlines()), "failed") for each in self.report.failures}
        return RepairResult(
            outcome=outcome,
            reason=reason,
            fixes=tuple(self.fixes),
            alternatives=tuple(self.others[:9]),
            failing=self.failing,
            left=tuple(left),
            messages={name: messages.get(name, "failed") for name in left},
            suspects=[_build_place(each) for each in self.doubts[:10]] if left else (),
            checked=self.report.passed,
            unsteady=self.unsteady,
            tried=self.tried,
        )


def _collect_failed_ids(report: TestReport) -> frozenset[str]:
    """Return ids of the failed tests; the command itself if it does not report them."""
    if report.outcome == "passed":
        return frozenset()
    return frozenset(each.id for each in report.failures) or frozenset({report.command})


def _build_place(doubt: SuspectFunction) -> SuspiciousPlace:
    function, text = doubt.function, doubt.code.text.split("\n")
    line = min(doubt.lines, default=function.own_first)
    return SuspiciousPlace(
        path=doubt.code.path,
        line=line,
        end_line=line if doubt.lines else function.last,
        function=function.name,
        code=text[line - 1].strip(),
        score=round(doubt.score, 4),
        failing=doubt.failing,
        passing=doubt.passing,
    )


def _build_end_result(outcome: Outcome, reason: str, unsteady: tuple[str, ...] = ()) -> RepairResult:
    return RepairResult(outcome=outcome, reason=reason, messages={}, unsteady=unsteady)


def _set_duration(result: RepairResult, seconds: float) -> RepairResult:
    return replace(result, seconds=seconds)
