"""Verifier that runs the project's linters on the lines that the session changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agent.events import Event
from agent.verify.suite_evidence import list_modified_files, read_current_content
from agent.verify.verdict import Claim, Verdict
from agent.verify.weakened_tests import describe_findings
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from tools.git.git_change import Change
    from tools.lint.checks.finding import Finding


@dataclass(slots=True, kw_only=True)
class ChangedLinesLint:
    """The project's linters find no error in changed lines. Warnings are left out, formatting counts."""

    workspace: Workspace
    name: str = "lint"
    withholds_commit: bool = True

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`; there is no state of a turn."""

    def track_event(self, event: Event) -> None:
        """See `Verifier.track_event`; no event matters."""

    async def verify(self, claim: Claim) -> Verdict | None:
        """Return None where no file was changed, or no linter of the project fits one."""
        from tools.lint.checks import find_linter_jobs
        from tools.lint.checks.linters import find_complaints
        from tools.lint.linters.project_linters import can_run_linters

        change = await asyncio.to_thread(self._build_change)
        jobs = list(find_linter_jobs(change)) if change is not None else []
        if change is None or not jobs:
            return None
        if not can_run_linters(self.workspace.sandbox):
            return Verdict(
                outcome="unknown", evidence="static", name=self.name, detail="linters cannot be confined here"
            )
        found = await find_complaints(change, self.workspace.sandbox, jobs)
        return self._judge([each for each in found if each.severity == "error"])

    def _judge(self, errors: list[Finding]) -> Verdict:
        if not errors:
            return Verdict(outcome="pass", evidence="static", name=self.name)
        rows = describe_findings(errors)
        return Verdict(
            outcome="fail",
            evidence="static",
            name=self.name,
            detail=f"The project's linters complain about changed lines:\n{rows}",
            advice=f"Before this is done: the project's linters complain about lines that you changed:\n{rows}",
        )

    def _build_change(self) -> Change | None:
        from tools.git.diff_hunks import diff_texts
        from tools.git.git_change import Change
        from tools.git.git_process import Git

        at = self.workspace
        sides = {
            path: (at.changes.originals[path], read_current_content(at, path))
            for path in list_modified_files(at)
        }
        if not sides:
            return None
        change = Change.from_contents(Git(at.root, alone=True), sides)
        for file in change.files:
            file.hunks = diff_texts(file.path, change.read_text(file.old), change.read_text(file.new))
        return change
