"""Candidate patches in copies of the project: applied exactly, with the tests that they weaken restored, and tested."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from agent.prompt.excused_changes import read_request
from agent.verify.verdict import Verdict
from packages.search.programs.keyed_answers import find_keyed_answers
from packages.search.select.static_signs import PatchFile, build_patch_file
from sandbox.fs.private_files import create_private_folder
from sandbox.fs.transaction.transactions import Transactions
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace
from tools.edit.apply.edit_plan import PlannedFile, PlanRefused, build_writes
from tools.edit.apply.planner import plan_changes
from tools.edit.edit_model import MalformedEdit
from tools.edit.formats import parse_edits
from tools.lint.checks.finding import Finding
from tools.lint.honesty.file_changes import ChangeSet, FileChange, find_role
from tools.lint.honesty.scan import find_signs
from tools.testing.report import TestReport
from tools.testing.run_comparison import describe_loss
from tools.testing.suite_run import run_copy


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
    report: TestReport | None = field(default=None)
    keyed: str = ""

    @property
    def lines(self) -> int:
        """Number of changed lines."""
        return sum(len(each.added) + len(each.removed) for each in self.files)

    @property
    def failures(self) -> int:
        """Number of failing tests, as far as they were counted."""
        return 0 if self.report is None else self.report.failed + self.report.errors

    def build_verdict(self, baseline: TestReport | None) -> Verdict:
        """Return the verdict of the suite. baseline: of the project without a patch, whose failures do not count"""
        if self.problem:
            return Verdict(outcome="fail", evidence="executed", name="suite", detail=self.problem)
        if self.report is None or self.report.outcome in ("no-tests", "no-runner", "unverified"):
            return Verdict(outcome="unknown", evidence="executed", name="suite", detail="no tests ran")
        outcome = self.report.outcome
        detail = f"{self.report.passed} passed, {self.failures} failed"
        lost = describe_loss(baseline.as_data(), self.report.as_data()) if baseline is not None else ""
        if outcome == "passed" and lost:
            return Verdict(outcome="fail", evidence="executed", name="suite", detail=f"{detail}; {lost}")
        around = [each for each in self.weakened if find_role(each.path) == "product"]
        if outcome == "passed" and around:  # signs in tests and their setup were taken back before the run
            told = f"{detail}, but {around[0].path}:{around[0].line}: {around[0].message}"
            return Verdict(outcome="fail", evidence="executed", name="suite", detail=told)
        if outcome == "passed" and self.keyed:
            told = f"{detail}, but {self.keyed}"
            return Verdict(outcome="fail", evidence="executed", name="suite", detail=told)
        if outcome == "passed":
            return Verdict(outcome="pass", evidence="executed", name="suite", detail=detail)
        if outcome in ("timeout", "broken"):
            return Verdict(
                outcome="fail", evidence="executed", name="suite", detail=f"{outcome}: {self.report.note}"
            )
        if baseline is not None and _list_failures(self.report) <= _list_failures(baseline):
            same = f"{detail}, all of which fail without the patch, too"
            return Verdict(outcome="unknown", evidence="executed", name="suite", detail=same)
        return Verdict(outcome="fail", evidence="executed", name="suite", detail=detail)


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
