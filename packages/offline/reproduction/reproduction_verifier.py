"""Verifier of a bug fix: the script that reproduced the prompt's bug before the turn has to pass at its end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from agent.events import Event, ObservationEvent, Prompt, Signal
from agent.verify.reproducer import KeptReproduction, Told
from agent.verify.suite_evidence import list_modified_files
from agent.verify.verdict import Claim, Verdict
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json
from tools.core.action import Observation, ToolFailure
from tools.core.registry import Tool, tool
from tools.core.untrusted_output import quote_lines
from tools.core.workspace import Workspace
from tools.testing.project_files import TestsNotRunnable

if TYPE_CHECKING:
    from packages.offline.reproduction.classification import Rejection
    from packages.offline.reproduction.report.report_fields import Report
    from packages.offline.reproduction.result import Reproduction
    from packages.offline.reproduction.suspicion import Suspicion

SIGNAL = "reproduction"
"""Name of the signal that keeps the artifact's reference in the log."""

SECONDS = 120.0
"""Wall time before the first step of a turn."""


@dataclass(slots=True, kw_only=True)
class ReproductionVerifier:
    """The bug that the prompt reports, and that a script has reproduced, does not happen any more.

    kept: the script of the turn; prompt: of the turn
    """

    workspace: Workspace
    name: str = "reproduction"
    withholds_commit: bool = True
    kept: KeptReproduction | None = None
    prompt: str = ""
    _has_commits: bool = False

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`."""
        self.kept = None
        self._has_commits = False

    def track_event(self, event: Event) -> None:
        """Restore the script of a turn that a kill or a limit interrupted."""
        if isinstance(event, Prompt):
            self.prompt = event.text
        if self.kept is None and isinstance(event, Signal) and event.name == SIGNAL:
            self.kept = self._load(event.detail.partition(" ")[0])
        if isinstance(event, ObservationEvent):
            self._has_commits |= bool(event.data.get("commit"))
        if self.kept is None and isinstance(event, ObservationEvent):
            found = event.data.get("reproduction")
            self.kept = self._load(str(found.get("ref"))) if isinstance(found, dict) else None

    def build_tool(self, *, keeps_test: bool) -> Tool:
        """See `Reproducer.build_tool`."""
        return build_reproduce_tool(self, keeps_test=keeps_test)

    def choose_test_path(self, script: str) -> str:
        """See `Reproducer.choose_test_path`."""
        return choose_test_path(self.workspace, script)

    async def reproduce_prompt(self, prompt: str) -> Told:
        """Reproduce the bug of a prompt that holds code or a trace; keep the script as an artifact."""
        from packages.offline.reproduction.report.extract import extract_report

        if not extract_report(prompt).has_code:
            return Told()
        return await self.reproduce_report(prompt)

    async def reproduce_report(self, prompt: str, script: str = "") -> Told:
        """Reproduce the bug of a prompt by its own code, or by a script that a model wrote."""
        from packages.offline.reproduction.machine import reproduce

        written = [script] if script else []

        async def write_draft(report: Report, suspicion: Suspicion, rejections: Sequence[Rejection]) -> str:
            return written.pop() if written else ""

        try:
            found = await reproduce(
                self.workspace,
                prompt,
                write_draft=write_draft if script else None,
                uses_report=not script,
                seconds=SECONDS,
            )
        except (TestsNotRunnable, UserError) as problem:
            return Told(detail=f"not made: {problem}")
        if not found.is_reproduced:
            return Told(detail=f"not made: {found.reason}")
        self._keep(found)
        assert self.kept is not None
        text = (
            f"The reported bug is reproduced ({self.kept.detail}). This script fails because of it, and is run again "
            f"at the end of the turn:\n{quote_lines(found.script.splitlines())}"
        )
        return Told(detail=f"{self.kept.ref} {self.kept.detail}", text=text)

    def _keep(self, found: Reproduction) -> None:
        """Save a reproduction, and its script alone for a person who looks for it."""
        failure = found.failure
        assert failure is not None
        artifacts = self.workspace.artifacts
        kept = KeptReproduction(
            script=found.script, python=found.python, kind=failure.kind, error_type=failure.error_type,
            message=failure.message, detail=failure.detail, file=artifacts.save(found.script.encode()),
        )  # fmt: skip
        self.kept = self._load(artifacts.save(json.dumps(asdict(kept)).encode()))

    async def verify(self, claim: Claim) -> Verdict | None:
        """Run the script again if files were changed; None if there is none."""
        changed = self._has_commits or bool(list_modified_files(self.workspace))
        if self.kept is None or not changed:
            return None
        return await self._run_script(self.kept, self.workspace)

    async def judge_copy(self, at: Workspace) -> Verdict | None:
        """Run the script in a copy of the project, for example one with an attempt's patch."""
        return await self._run_script(self.kept, at) if self.kept is not None else None

    async def _run_script(self, kept: KeptReproduction, at: Workspace) -> Verdict:
        from packages.offline.reproduction.machine import is_failure_of
        from packages.offline.reproduction.probe_run import ProbeRunner

        runner = ProbeRunner(at=at, python=kept.python, packages=())
        try:
            done = await runner.run_script(kept.script)
        except UserError as problem:
            return self._answer("unknown", f"the script cannot be run: {problem}")
        finally:
            await runner.close()
        output = done.stdout.text()
        if done.ended == "exited" and done.returncode == 0:
            place = self.workspace.artifacts.find_file(kept.file)
            told = f"it failed before ({kept.detail}) and passes now"
            return self._answer("pass", f"{told}\nthe script: {place}" if place else told)
        if is_failure_of(done.returncode, output, kept.kind, kept.error_type):
            tail = quote_lines(output.strip().splitlines()[-12:])
            advice = f"Before this is done: the reported bug is still there.\n{tail}"
            return self._answer("fail", f"the reported bug is still there: {kept.detail}", advice)
        last = output.strip().splitlines()[-1:] or [f"exit {done.returncode}"]
        return self._answer("unknown", f"the script fails in another way than before: {last[0][:200]}")

    def _answer(self, outcome: str, detail: str, advice: str = "") -> Verdict:
        assert self.kept is not None
        return Verdict(
            outcome="pass" if outcome == "pass" else "fail" if outcome == "fail" else "unknown",
            evidence="executed",
            name=self.name,
            detail=detail,
            artifacts=(self.kept.ref,),
            advice=advice,
        )

    def _load(self, ref: str) -> KeptReproduction | None:
        path = self.workspace.artifacts.find_file(ref)
        if path is None:
            return None
        try:
            return KeptReproduction(**{**parse_json(path.read_bytes()), "ref": ref})
        except (OSError, ValueError, TypeError):  # the artifact was pruned
            return None


def build_reproduce_tool(verifier: ReproductionVerifier, *, keeps_test: bool) -> Tool:
    """Return the tool of one session. keeps_test: the script becomes a test of the project"""

    @tool(effect="execute")
    async def reproduce(script: str = "", *, at: Workspace) -> Observation:
        """Show the reported bug by a script before you mend it; at the end of the turn the script has to pass.

        It counts only if it fails for the reason that the report tells, each time, in the suspected code.

        script: Python statements that assert the right behavior; without it the report's own code is tried
        """
        kept = verifier.kept
        text = (
            f"Reproduced already ({kept.detail}); its script is run again at the end of the turn."
            if kept
            else ""
        )
        if kept is None:  # one that counts is not replaced: a model could choose an easier one
            told = await verifier.reproduce_report(verifier.prompt, script)
            if not told.text:
                raise ToolFailure(f"reproduce: {told.detail}")
            kept, text = verifier.kept, told.text
        assert kept is not None
        made = {
            "ref": kept.ref,
            "script": kept.script,
            "test": choose_test_path(at, kept.script),
            "keep": keeps_test,
        }
        return Observation(text=text, data={"reproduction": made})

    return reproduce


_FOLDERS = ("tests", "test")
"""Folders of tests, in the order of preference; the root where there is none."""


def choose_test_path(at: Workspace, script: str) -> str:
    """Return a path that is free, or that holds this script already."""
    folder = next((f"{each}/" for each in _FOLDERS if (at.root / each).is_dir()), "")
    number = 1
    while True:
        path = f"{folder}test_reproduction{'' if number == 1 else f'_{number}'}.py"
        if not at.files.is_file(path) or at.files.read(path) == script.encode():
            return path
        number += 1
