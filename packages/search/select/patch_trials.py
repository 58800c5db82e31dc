"""Candidate patches in copies of the project: applied exactly, with the tests that they weaken restored, and tested."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.prompt.excused_changes import read_request
from agent.strategy.progress import list_failing_tests, list_mended_tests
from agent.verify.verdict import Verdict, VerdictOutcome
from packages.search.programs.keyed_answers import find_keyed_answers
from packages.search.select.static_signs import PatchFile, build_patch_file
from sandbox.fs.private_files import create_private_folder
from sandbox.fs.transaction.transactions import Transactions
from sandbox.lazy_dataclass import dataclass
from tools.core.text import join_names
from tools.core.workspace import Workspace
from tools.edit.apply.edit_plan import PlannedFile, PlanRefused, build_writes
from tools.edit.apply.planner import plan_changes
from tools.edit.edit_model import MalformedEdit
from tools.edit.formats import parse_edits
from tools.lint.checks.finding import Finding
from tools.lint.honesty.file_changes import ChangeSet, FileChange, find_role
from tools.lint.honesty.scan import find_signs
from tools.testing.report import TestReport
from tools.testing.run_comparison import count_lost_tests, describe_loss
from tools.testing.suite_run import run_copy

MOST_NAMED = 5
"""Mended or broken tests that are named: more say nothing else of the patch."""

NOT_RUN = "the suite did not run"

UNTRIED = -1_000.0
"""Progress of a patch with which no test runs: behind all that break tests."""


@dataclass(slots=True, kw_only=True)
class PatchTrial:
    """One patch in its copy.

    problem: why it cannot be applied, "" if it was
    files: what it changes
    weakened: signs that it makes tests pass without mending the code; tests, their data and their setup that show one
    were restored before the suite ran
    task: what was asked for, which may excuse a sign
    keyed: a sentence about a function that knows the tests' inputs only, "" if there is none
    """

    text: str
    at: Workspace
    task: str = ""
    problem: str = ""
    planned: Sequence[PlannedFile] = ()
    files: Sequence[PatchFile] = ()
    weakened: Sequence[Finding] = ()
    report: TestReport | None = None
    keyed: str = ""

    @property
    def lines(self) -> int:
        """Number of changed lines."""
        return sum(len(each.added) + len(each.removed) for each in self.files)

    def measure_progress(self, baseline: TestReport) -> float:
        """Return the failing tests that pass with the patch, less those that do not pass any more, as a share of what
        failed; by name, so that a test that is gone is not mended. -1,000 for a patch that cannot be tried.
        """
        if self.report is None:
            return UNTRIED
        before, after = baseline.as_data(), self.report.as_data()
        if not _has_run(self.report):
            return UNTRIED if _has_run(baseline) else 0.0
        failing = list_failing_tests(before)
        mended = list_mended_tests(before, after)
        return (len(mended) - self._count_broken(before, after)) / max(1, len(failing))

    def build_verdict(self, baseline: TestReport) -> Verdict:
        """Return the verdict of the suite. baseline: of the project without a patch, whose failures do not count"""
        if self.problem or self.report is None:
            return _judge("fail", self.problem or "it was not run")
        lost = describe_loss(baseline.as_data(), self.report.as_data())
        if self.report.outcome in ("no-tests", "no-runner", "unverified") and not lost:
            return _judge("unknown", f"{NOT_RUN}: {self.report.outcome}")
        detail = self._describe_tests(baseline)
        if lost:
            return _judge("fail", f"{detail}; {lost}")
        if not _has_run(self.report):
            told = f"{NOT_RUN}: {self.report.outcome}: {self.report.note}"
            return _judge("fail" if _has_run(baseline) else "unknown", told)
        if self.report.outcome == "passed":
            around = [each for each in self.weakened if find_role(each.path) == "product"]
            # signs in tests and their setup were taken back before the run
            sign = f"{around[0].path}:{around[0].line}: {around[0].message}" if around else self.keyed
            return _judge("fail", f"{detail}, but {sign}") if sign else _judge("pass", detail)
        if _list_failures(self.report) <= _list_failures(baseline):
            return _judge("unknown", f"{detail}, all of which fail without the patch, too")
        return _judge("fail", detail)

    def _describe_tests(self, baseline: TestReport) -> str:
        """Return the mended and the broken tests by name, and the counts."""
        assert self.report is not None
        before, after = baseline.as_data(), self.report.as_data()
        mended = sorted(list_mended_tests(before, after))
        broken = sorted(list_failing_tests(after) - list_failing_tests(before))
        parts = [
            f"{word} {join_names(names, MOST_NAMED)}"
            for word, names in (("mends", mended), ("breaks", broken))
            if names
        ]
        failed = self.report.failed + self.report.errors
        return "; ".join([*parts, f"{self.report.passed} passed, {failed} failed"])

    @staticmethod
    def _count_broken(before: Mapping[str, Any], after: Mapping[str, Any]) -> int:
        """Return how many tests fail that did not before, or ran before and do not any more."""
        old, now = list_failing_tests(before), list_failing_tests(after)
        unnamed = 0
        if not now:
            unnamed = int(after.get("failed") or 0) + int(after.get("errors") or 0)
        gone = count_lost_tests(before, after)
        return len(now - old) + unnamed + gone


def _judge(outcome: VerdictOutcome, detail: str) -> Verdict:
    return Verdict(outcome=outcome, evidence="executed", name="suite", detail=detail)


def _has_run(report: TestReport) -> bool:
    """Whether the tests could be collected and came to their end."""
    return report.outcome in ("passed", "failed")


async def apply_patch(text: str, at: Workspace, *, task: str = "") -> PatchTrial:
    """Apply a patch to a copy of the project. task: what was asked for"""
    trial = PatchTrial(text=text, at=at, task=task)
    try:
        await asyncio.to_thread(_apply, trial)
    except (MalformedEdit, PlanRefused, ValueError, OSError) as problem:
        trial.problem = f"it does not apply: {str(problem).splitlines()[0] if str(problem) else 'no edit'}"
    return trial


async def run_suite(trial: PatchTrial, original: Path, seconds: float) -> None:
    """Run the suite in the copy, if the patch could be applied.

    original: the project's root, whose files of the patch the suite cannot read: an editable installation leads there
    """
    if trial.problem:
        return
    denied = [original / each.path for each in trial.files if (original / each.path).is_file()]
    trial.report = await run_copy(trial.at, seconds, denied=denied)


async def run_beside_tests(trial: PatchTrial, original: Workspace, baseline: TestReport) -> None:
    """Run the functions that a passing patch changes on inputs beside those of the tests, where tests failed before."""
    if trial.report is None or trial.report.outcome != "passed" or not (baseline.failed or baseline.errors):
        return
    texts = {each.path: (_decode(each.before), _decode(each.after)) for each in trial.planned}
    trial.keyed = await find_keyed_answers(original, texts, trial.at.root)


def _apply(trial: PatchTrial) -> None:
    """Write the patch to its copy; what judges it and is weakened stays as it was. Raises PlanRefused and others."""
    tree = trial.at.files
    trial.planned = plan_changes(tree, parse_edits(trial.text), strictest=True)
    trial.files = [
        build_patch_file(each.path, each.before, each.after) for each in trial.planned if each.has_changes
    ]
    trial.weakened = _find_weakened(trial.planned, trial.task)
    spoiled = {each.path for each in trial.weakened if find_role(each.path) in ("test", "expected", "setup")}
    kept = [each for each in trial.planned if each.path not in spoiled]
    journal = trial.at.root.parent / "journal"
    create_private_folder(journal.parent)
    transactions = Transactions(tree, journal)
    with transactions.lock_tree():
        transactions.commit(build_writes(kept))


def _find_weakened(planned: Sequence[PlannedFile], task: str) -> list[Finding]:
    files = [
        FileChange(path=each.path, before=_decode(each.before), after=_decode(each.after))
        for each in planned
        if each.before != each.after
    ]
    signs = find_signs(ChangeSet(files=files, request=read_request([task] if task else [])))
    return [each for each in signs if each.severity == "error"]


def _decode(content: bytes | None) -> str | None:
    return None if content is None else "" if b"\0" in content else content.decode("utf-8", "replace")


def _list_failures(report: TestReport) -> set[str]:
    return {each.id for each in report.failures} or {"unnamed"}
