"""Repair engine: trace the tests, rank the statements, search for a patch, keep it in memory, repeat."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import field, replace
from functools import partial

from packages.offline.infill.filler import prepare_fillings
from packages.offline.repair.engine.candidates.candidate_generation import (
    adjust_suspect_count,
    generate_candidates,
)
from packages.offline.repair.engine.candidates.fix_edits import build_fixes
from packages.offline.repair.engine.own_work import mark_own_work
from packages.offline.repair.engine.patch_search import PatchSearch
from packages.offline.repair.engine.repair_findings import Findings, HeldChanges
from packages.offline.repair.engine.time_shares import (
    FILLING_SHARE,
    FILLING_SHARE_BETWEEN,
    SEARCH_SHARE,
    SLACK,
    TRACE_SHARE,
    compute_cold_start,
    compute_suite_reserve,
)
from packages.offline.repair.engine.validation.budget_clock import LONGEST, BudgetClock
from packages.offline.repair.engine.validation.isolated_copy import find_passing_in_copy, runs_no_project_code
from packages.offline.repair.engine.validation.suite_baseline import Baseline, run_baseline
from packages.offline.repair.engine.validation.worker_client import WorkerClient
from packages.offline.repair.engine.validation.worker_process import Job, Replies, RequestPipe
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test, is_test_file
from packages.offline.repair.localize.failure_analysis import extract_hints, group_by_fault
from packages.offline.repair.localize.git_reverts import attach_past_hunks, boost_recent_changes
from packages.offline.repair.localize.import_time_coverage import add_import_time_lines
from packages.offline.repair.localize.literal_hints import promote_literal_suspects
from packages.offline.repair.localize.repair_hint import NO_HINT, Hint, parse_hint
from packages.offline.repair.localize.statement_ranking import Suspect, rank_statements, reweigh_suspects
from packages.offline.repair.localize.test_checks import measure_checks
from packages.offline.repair.localize.word_relevance import collect_test_words, rerank_by_words
from packages.offline.repair.result import Outcome, RepairResult
from packages.offline.repair.templates import Hints, Source
from sandbox.errors import UserError
from sandbox.fs.repository import find_inner_repository
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.workspace import Workspace
from tools.testing.project_files import Project, TestsNotRunnable
from tools.testing.python import find_test_interpreter
from tools.testing.runners import is_python_suite

# Statements for which candidates are generated, in order. In libraries where all tests run the same lines the
# fault was the 230th and the 270th.
MOST_SUSPECTS = 1000
# Alternative changes that are kept to be shown with a fix.
MOST_ALTERNATIVES = 9

# Files that tests only import, which are searched for constants; and the pattern of an assignment there.
MOST_IMPORTED = 60
_ASSIGNED = compile_lazily(r"^(?: {4}|\t)?(\w+)(?:: [^=\n]+)? *=(?!=)", re.MULTILINE)

Progress = Callable[[str], None]


async def repair(
    at: Workspace,
    *,
    targets: Sequence[str] = (),
    hint: str = "",
    budget: float = 60.0,
    most: float = math.inf,
    on_progress: Progress = lambda line: None,
) -> RepairResult:
    """Search for patches that make failing tests pass and break no passing one. Nothing is written to disk.

    targets: tests to repair (files or node ids); all failing ones when empty
    hint: likely place and kind of the fault, or a description of it (see `repair_hint`)
    budget: wall seconds where the machine has time for the search (see `budget_clock`); most: in any case
    """
    told = await asyncio.to_thread(parse_hint, at, hint)
    if not await asyncio.to_thread(is_python_suite, at, targets):
        from packages.offline.repair.languages import language_engine

        found = await language_engine.repair(
            at, targets=targets, hint=told, budget=budget, on_progress=on_progress
        )
        return await asyncio.to_thread(mark_own_work, at, found)
    started = time.monotonic()
    clock = BudgetClock(longest=min(LONGEST, max(1.0, most / budget)))
    findings = Findings(targets=targets, deadline=budget, clock=clock)
    slack = min(SLACK, max(0.0, most - budget))
    state = RepairRun(at=at, findings=findings, hint=told, on_progress=on_progress, slack=slack)
    result = await asyncio.to_thread(mark_own_work, at, await state.run())
    return replace(result, seconds=time.monotonic() - started, tried=state.tried, cpu=state.cpu)


async def localize_faults(
    at: Workspace, targets: Sequence[str], seconds: float
) -> tuple[RepairResult, Spectrum]:
    """Return the ranking only: failing tests and suspicious statements (functions without a spectrum if not Python)."""
    if not await asyncio.to_thread(is_python_suite, at, targets):
        from packages.offline.repair.languages import language_engine

        nothing = Spectrum(tests=(), imported={}, complete=False)
        return await language_engine.localize_faults(at, targets, seconds), nothing
    findings = Findings(targets=targets, deadline=seconds)
    state = RepairRun(at=at, findings=findings, on_progress=lambda line: None)
    async with AsyncExitStack() as stack:
        try:
            job = replace(await state.prepare_job(), why=targets or ("",))
        except (TestsNotRunnable, UserError) as error:  # no Python that can run the tests
            nothing = Spectrum(tests=(), imported={}, complete=False)
            return findings.build_result(Outcome.CANNOT_RUN, str(error)), nothing
        base, _ = await run_baseline(at, stack, job, Replies(findings.clock))
        await state.check_isolated_tests(base)
        return findings.find_early_result(base) or state.build_report(base), base.spectrum


@dataclass(slots=True, kw_only=True)
class RepairRun:
    """A running repair: `overlay` has the texts of the files fixed so far.

    held: changes that are reverted if no further one is found
    slack: seconds after the end of the search for a last run of the tests
    """

    at: Workspace
    findings: Findings
    on_progress: Progress
    hint: Hint = NO_HINT
    overlay: dict[str, str] = field(default_factory=dict)
    held: HeldChanges | None = None
    unsteady: frozenset[str] = frozenset()
    tried: int = 0
    cpu: float = 0.0
    python: tuple[str, tuple[str, ...]] | None = None
    slack: float = SLACK

    async def run(self) -> RepairResult:
        while True:
            async with AsyncExitStack() as stack:
                try:
                    job = await self.prepare_job()
                except (TestsNotRunnable, UserError) as error:  # no Python that can run the tests
                    return self.findings.build_result(Outcome.CANNOT_RUN, str(error))
                replies = Replies(self.findings.clock)
                base, workers = await run_baseline(self.at, stack, job, replies, self.unsteady)
                self.unsteady |= {test.id for test in base.spectrum.select_tests("unsteady")}
                await self.check_isolated_tests(base)
                ended = self.findings.find_early_result(base)
                if self.held and base.spectrum.complete and base.spectrum.tests:
                    left = {test.id for test in self.findings.list_failing_tests(base.spectrum)}
                    self.held = self.held if self.held.tests & left else None
                if ended is not None and self.held:
                    return self.report_without_held(base)
                if ended is not None:
                    if ended.outcome is Outcome.IMPORT_ERROR and await self._repair_imports(
                        base, workers, replies
                    ):
                        continue
                    return ended
                found = await self._fix_next_fault(base, workers, replies)
                self.cpu += replies.cpu
                if not found:
                    return self.report_without_held(base)
                # Tests that pass in a copy are run there once more with every change.
                if self.findings.has_fixed_all() and not self.findings.written:
                    return self.findings.build_fixed_result(base)

    async def check_isolated_tests(self, base: Baseline) -> None:
        """Run tests that write, or run the project in another process, in a copy with the fixes so far."""
        mended, failing = bool(self.findings.fixes), self.findings.list_failing_in_sandbox(base.spectrum)
        apart = [
            test for test in failing if test.needs_write_access or (mended and runs_no_project_code(test))
        ]
        if apart and not self.held:
            job = await self.prepare_job()
            self.findings.written = await find_passing_in_copy(self.at, job, apart, self.overlay)

    async def prepare_job(self) -> Job:
        if self.python is None:
            found = await find_test_interpreter(self.at, Project(self.at))
            self.python = found.path, (str(self.at.root / "src"),) if found.needs_source_path else ()
        left = max(1.0, self.findings.deadline - self.findings.clock.now())
        return Job(
            python=self.python[0],
            python_path=self.python[1],
            overlay=self.overlay,
            arguments=self._list_target_files(),
            named=self.findings.targets,
            check=not self.findings.fixes,
            trace_seconds=self.findings.clock.to_wall_seconds(left * TRACE_SHARE),
            seconds=left + self.slack,
        )

    def _list_target_files(self) -> list[str]:
        """Return the files that the targets name, if each names one: the other tests can wait for a patch."""
        files = [target.partition("::")[0] for target in self.findings.targets]
        known = all(name.endswith(".py") and (self.at.root / name).is_file() for name in files)
        return sorted(set(files)) if known else []

    async def _fix_next_fault(
        self, base: Baseline, workers: Mapping[str, RequestPipe], replies: Replies
    ) -> bool:
        """Search for one more fix. Return False when there is none for any remaining failing test."""
        spectrum = base.spectrum
        every = list(group_by_fault(self._list_wanted_tests(spectrum)))
        kept = compute_suite_reserve(self.findings.deadline, base, self._list_target_files())
        for place, wanted in enumerate(every):
            left = self.findings.deadline - self.findings.clock.now()
            if left <= 0:
                return False
            sources, suspects = self._locate_suspects(wanted, spectrum)
            self.on_progress(f"searching: {len(wanted)} failing tests, {len(suspects)} suspicious statements")
            filled = prepare_fillings(self.at, [(test.file, test.id) for test in wanted], self._read_text)
            own = min(left * (SEARCH_SHARE if place + 1 < len(every) else 1.0), max(left - kept, left / 2))
            until = self.findings.deadline - left + own
            name = f"{len(self.findings.fixes)}.{place}"
            make_search = partial(
                PatchSearch, root=self.at.root.resolve(), workers=workers, replies=replies, spectrum=spectrum,
                sources=sources, wanted=wanted, latest=self.findings.deadline, files=self._list_target_files(),
                cold_start=compute_cold_start(base), on_progress=self.on_progress,
                measure=filled.measure if filled is not None else None,
            )  # fmt: skip
            search = make_search(
                name=name, deadline=until - (FILLING_SHARE * own if filled is not None else 0.0)
            )
            ordered = generate_candidates(
                suspects,
                sources,
                self._collect_hints(wanted),
                self.hint.weigh_template if self.hint.weighs_templates else None,
            )
            # Code that ran before the tests can only be tried in new sessions: nothing quicker comes first.
            number = adjust_suspect_count(len(suspects), sources.values())
            found = await search.find_patch(ordered, number if any(each.failing for each in suspects) else 0)
            in_doubt = found is None or found.is_unnatural
            if filled is not None and in_doubt and any(each.failing for each in suspects):
                search, found = await filled.improve(
                    search, found, lambda part, end: make_search(name=f"{name}.{part}", deadline=end),  # noqa: B023 - awaited here
                    suspects, self._collect_hints(wanted), ordered, until, FILLING_SHARE_BETWEEN * own,
                )  # fmt: skip
            self.tried += search.tried
            self.findings.checked = search.checked
            self.findings.to_the_end &= search.to_the_end
            if found is not None:
                has_untraced = search.checked > len(spectrum.tests)  # tests of other files
                checks = None if has_untraced else measure_checks(wanted, self._read_text)
                before = {path: source.text for path, source in sources.items()}
                self.findings.alternatives += [
                    tuple(build_fixes(each, dict(before), [found, *search.others], spectrum, number, checks))
                    for each in search.others[:MOST_ALTERNATIVES]
                ]
                texts = dict(before)
                if found.candidate.base is not None and len(found.helped) < len(wanted) and not self.held:
                    self.held = HeldChanges(
                        number=len(self.findings.fixes),
                        tests=frozenset(test.id for test in wanted),
                        base=base,
                        overlay=dict(self.overlay),
                    )
                fixes = build_fixes(found, texts, search.others, spectrum, number, checks)
                self.findings.fixes += fixes
                self.overlay.update({fix.path: texts[fix.path] for fix in fixes})
                return True
            self.findings.given_up.update(test.id for test in wanted)
        return False

    def _locate_suspects(
        self, wanted: Sequence[Test], spectrum: Spectrum
    ) -> tuple[dict[str, Source], Sequence[Suspect]]:
        """Return the suspects that the tests run, else those that ran before them, which need new sessions."""
        if not all(map(runs_no_project_code, wanted)):
            sources = self.load_sources(spectrum, wanted)
            return sources, self.rank_suspects(sources, wanted, spectrum)[:MOST_SUSPECTS]
        before = add_import_time_lines(wanted, spectrum, self._load_source, self._read_text)
        sources = self.load_sources(spectrum, before)
        suspects = self.rank_suspects(sources, before, spectrum)[:MOST_SUSPECTS]
        return sources, [replace(each, failing=0) for each in suspects]

    async def _repair_imports(
        self, base: Baseline, workers: Mapping[str, RequestPipe], replies: Replies
    ) -> bool:
        """Fix errors that prevent the import of tests. Return False if no change does."""
        from packages.offline.repair.engine.import_error_search import (
            ImportErrorSearch,
            list_nearby_files,
            parse_frames,
        )

        root, deadline = self.at.root.resolve(), self.findings.deadline
        sources: dict[str, Source] = {}
        for path in filter(self._is_own_file, list_nearby_files(parse_frames(base.errors, root), root)):
            with suppress(OSError, ValueError, SyntaxError, RecursionError):
                sources[path] = self._load_source(path)
        cold_start = compute_cold_start(base)
        ask = WorkerClient(
            name=f"{len(self.findings.fixes)}.import", root=root, workers=workers, spectrum=base.spectrum,
            sources=sources, wanted=[], cold_start=cold_start,
        )  # fmt: skip
        search = ImportErrorSearch(
            ask=ask, replies=replies, files=self._list_target_files(), deadline=deadline,
            passing=[test.id for test in base.spectrum.select_tests("passed")],
            known=sum(test.standing != "skipped" for test in base.spectrum.tests),
            on_progress=self.on_progress,
        )  # fmt: skip
        found = await search.find_change(base.errors)
        self.tried += search.tried
        self.cpu += replies.cpu
        if found is None:
            return False
        texts = {path: source.text for path, source in sources.items()}
        fixes = build_fixes(found, texts, (), base.spectrum, 1)
        self.findings.fixes += fixes
        if not found.near:
            self.findings.unproven = base.errors
        self.overlay.update({fix.path: texts[fix.path] for fix in fixes})
        return True

    def _is_own_file(self, path: str) -> bool:
        """Return whether the file is outside submodules and nested repositories, which are not edited from here."""
        return not find_inner_repository(self.at.root, path)

    def _list_wanted_tests(self, spectrum: Spectrum) -> list[Test]:
        failing = self.findings.list_failing_tests(spectrum)
        return [test for test in failing if test.id not in self.findings.given_up]

    def load_sources(self, spectrum: Spectrum, wanted: Sequence[Test]) -> dict[str, Source]:
        """Return the files that the failing tests ran, with the fixes applied.

        Includes files that were only imported, if they define names that those read. Files that cannot be
        read, or not parsed by this Python (the project's may be newer), are left out.
        """
        covered = {path for test in wanted for path in test.lines}
        found: dict[str, Source] = {}
        for path in spectrum.list_sources():
            if path in covered and self._is_own_file(path):
                with suppress(OSError, ValueError, SyntaxError, RecursionError):
                    found[path] = self._load_source(path)
        names = {name for source in found.values() for name in source.names}
        for path in sorted(set(spectrum.imported) - set(found))[:MOST_IMPORTED]:
            if not is_test_file(path) and self._is_own_file(path):
                with suppress(OSError, ValueError, SyntaxError, RecursionError):
                    text = self._read_text(path)
                    if names & set(_ASSIGNED.findall(text)):
                        found[path] = self._load_source(path)
        # Fixes of this run must not be reverted.
        attach_past_hunks(
            self.at.root, {path: source for path, source in found.items() if path not in self.overlay}
        )
        return found

    def rank_suspects(
        self, sources: Mapping[str, Source], wanted: Sequence[Test], spectrum: Spectrum
    ) -> list[Suspect]:
        """Return statements ranked by the tests that run them, words shared with the failing ones, and the hint."""
        ranked = rerank_by_words(rank_statements(sources, wanted, spectrum), self._collect_words(wanted))
        recent = boost_recent_changes(ranked, sources)
        found = promote_literal_suspects(recent, sources, extract_hints(wanted).texts)
        weights = [self.hint.weigh_place(each.path, each.function) for each in found]
        return reweigh_suspects(found, weights) if self.hint.text else found

    def _collect_words(self, wanted: Sequence[Test]) -> frozenset[str]:
        files: dict[str, str] = {}
        for path in sorted({test.file for test in wanted}):
            with suppress(OSError, ValueError):  # tests that come from no file
                files[path] = self._read_text(path)
        return collect_test_words(wanted, files)

    def _collect_hints(self, wanted: Sequence[Test]) -> Hints:
        return replace(extract_hints(wanted), test_words=self._collect_words(wanted))

    def _load_source(self, path: str) -> Source:
        return Source(path, self._read_text(path))

    def _read_text(self, path: str) -> str:
        return self.overlay.get(path) or self.at.files.read_text(path).text

    def report_without_held(self, base: Baseline) -> RepairResult:
        """Return the report without the held changes and those on top of them, which are only shown."""
        if self.held is None:
            return self.build_report(base)
        held, self.held = self.held, None
        fixes = self.findings.fixes
        self.findings.alternatives.insert(0, tuple(fixes[held.number :]))
        del fixes[held.number :]
        self.overlay = dict(held.overlay)
        return self.build_report(held.base)

    def build_report(self, base: Baseline) -> RepairResult:
        """Return the report at the end of the search."""
        failing = self.findings.list_failing_tests(base.spectrum)
        suspects = self._locate_suspects(failing, base.spectrum)[1] if failing else []
        return self.findings.build_report(base, suspects)
