"""Verifier of a bug fix: the script that reproduced the prompt's bug before the turn has to pass at its end."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from agent.events import Event, Signal
from agent.verify.reproduction.report.extract import extract_report
from agent.verify.suite_evidence import list_modified_files
from agent.verify.verdict import Claim, Verdict
from sandbox.errors import UserError
from tools.core.untrusted_output import quote_lines
from tools.core.workspace import Workspace
from tools.testing.project_files import TestsNotRunnable

SIGNAL = "reproduction"
"""Name of the signal that keeps the artifact's reference in the log."""

SECONDS = 120.0
"""Wall time before the first step of a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReproduction:
    """A reproduction as it is kept in a session. ref: of the artifact"""

    script: str
    python: str
    kind: str
    error_type: str
    message: str
    detail: str
    ref: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a reproduction has to say. detail: for the log; text: for the model"""

    detail: str = ""
    text: str = ""


@dataclass(slots=True, kw_only=True)
class ReproductionVerifier:
    """The bug that the prompt reports, and that a script has reproduced, does not happen any more."""

    workspace: Workspace
    name: str = "reproduction"
    withholds_commit: bool = True
    kept: KeptReproduction | None = None

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`."""
        self.kept = None

    def track_event(self, event: Event) -> None:
        """Restore the script of a turn that a kill or a limit interrupted."""
        if self.kept is None and isinstance(event, Signal) and event.name == SIGNAL:
            self.kept = self._load(event.detail.partition(" ")[0])

    async def reproduce_prompt(self, prompt: str) -> Told:
        """Reproduce the bug of a prompt that holds code or a trace; keep the script as an artifact."""
        if not extract_report(prompt).has_code:
            return Told()
        from agent.verify.reproduction.machine import reproduce

        try:
            found = await reproduce(self.workspace, prompt, seconds=SECONDS)
        except (TestsNotRunnable, UserError) as problem:
            return Told(detail=f"not made: {problem}")
        failure = found.failure
        if not found.is_reproduced or failure is None:
            return Told(detail=f"not made: {found.reason}")
        kept = KeptReproduction(
            script=found.script, python=found.python, kind=failure.kind, error_type=failure.error_type,
            message=failure.message, detail=failure.detail,
        )  # fmt: skip
        ref = self.workspace.artifacts.save(json.dumps(asdict(kept)).encode())
        self.kept = self._load(ref)
        text = (
            f"The reported bug is reproduced ({failure.detail}). This script fails because of it, and is run again at "
            f"the end of the turn:\n{quote_lines(found.script.splitlines())}"
        )
        return Told(detail=f"{ref} {failure.detail}", text=text)

    async def verify(self, claim: Claim) -> Verdict | None:
        """Run the script again if files were changed; None if there is none."""
        if self.kept is None or not list_modified_files(self.workspace):
            return None
        return await self._run_script(self.kept, self.workspace)

    async def judge_copy(self, at: Workspace) -> Verdict | None:
        """Run the script in a copy of the project, for example one with an attempt's patch."""
        return await self._run_script(self.kept, at) if self.kept is not None else None

    async def _run_script(self, kept: KeptReproduction, at: Workspace) -> Verdict:
        from agent.verify.reproduction.machine import is_failure_of
        from agent.verify.reproduction.probe_run import ProbeRunner

        runner = ProbeRunner(at=at, python=kept.python, packages=())
        try:
            done = await runner.run_script(kept.script)
        except UserError as problem:
            return self._answer("unknown", f"the script cannot be run: {problem}")
        finally:
            await runner.close()
        output = done.stdout.text()
        if done.ended == "exited" and done.returncode == 0:
            return self._answer("pass", f"it failed before ({kept.detail}) and passes now")
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
            return KeptReproduction(**{**json.loads(path.read_bytes()), "ref": ref})
        except (OSError, ValueError, TypeError):  # the artifact was pruned
            return None
