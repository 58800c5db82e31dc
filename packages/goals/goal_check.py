"""Check of a goal: the person's command, or the requirements of the task, executed by the harness in the sandbox."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.events import Event
from agent.verify.suite_evidence import read_current_content
from agent.verify.suite_verifier import RunAction
from agent.verify.verdict import Claim, Verdict, VerdictOutcome
from packages.goals.check_sources import CheckSources, describe_run
from sandbox.lazy_dataclass import dataclass
from tools.core.action import Observation
from tools.core.untrusted_output import quote_lines
from tools.core.workspace import Workspace
from tools.shell.shell_tool import MAX_TIMEOUT, ShellResult

if TYPE_CHECKING:
    from agent.verify.requirement import Requirements

MOST_QUOTED = 30
"""Last lines of the check's output that the model is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Outcome of one run of the check.

    detail: a few words ("2 failed", "exit 1"); output: its end, quoted for the model; tree: hash of the files it saw
    refused: why it could not be run, "" if it was
    """

    outcome: VerdictOutcome
    detail: str
    output: str = ""
    tree: str = ""
    refused: str = ""


class ChangedFiles:
    """Hash over every file that the session has changed, committed ones included, but not those the check writes."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._paths: set[str] = set()
        self._written: set[str] = set()

    def read_contents(self) -> dict[str, bytes | None]:
        """Return the hash of each file's content, None for one that is gone."""
        self._paths.update(self._workspace.changes)
        contents: dict[str, bytes | None] = {}
        for path in self._paths - self._written:
            content = read_current_content(self._workspace, path)
            contents[path] = None if content is None else hashlib.sha256(content).digest()
        return contents

    def ignore_writes(self, before: dict[str, bytes | None]) -> None:
        """Leave out from now on the files that the check itself has written since `before`."""
        now = self.read_contents()
        self._written.update(path for path in now if now[path] != before.get(path, now[path]))
        self._written.update(now.keys() - before.keys())

    def list_named(self, command: str) -> list[str]:
        """Return the files that the session has changed and a command line names: it may judge by them."""
        words = re.split(r"[\s'\"=:;&|<>()]+", command)
        return sorted(self._paths & {os.path.normpath(word) for word in words if word})

    def compute_hash(self) -> str:
        """Return the hash of all of them."""
        digest = hashlib.sha256()
        for path, content in sorted(self.read_contents().items()):
            digest.update(path.encode("utf-8", "surrogateescape") + b"\0" + (content or b"gone"))
        return digest.hexdigest()[:16]


@dataclass(slots=True, kw_only=True)
class CommandCheck:
    """The person's command exits with 0. As a verifier it judges each turn before anything is committed.

    sources: files by which it judges
    is_wanted: whether the goal is still worked on; last: the result of this turn, None before its end
    narrowing: what a check that passes lacks by files without a commit, which may be the user's own
    runs_before: it can be run before the first turn, so that the first progress is seen
    """

    command: str
    workspace: Workspace
    run_action: RunAction
    files: ChangedFiles
    sources: CheckSources
    is_wanted: Callable[[], bool] = lambda: True
    name: str = "goal"
    withholds_commit: bool = True
    last: CheckResult | None = None
    narrowing: str = ""
    runs_before: bool = True

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`."""
        self.last = None

    def track_event(self, event: Event) -> None:
        """See `Verifier.track_event`."""

    async def verify(self, claim: Claim) -> Verdict | None:
        """Run the command; the next turn, and not this one, is given its output."""
        if not self.is_wanted():
            return None
        result = await self.run()
        detail = f"the goal's check `{self.command}`: {result.detail}"
        return Verdict(outcome=result.outcome, evidence="executed", name=self.name, detail=detail)

    async def run(self) -> CheckResult:
        """Run the command as an action of the session, under its policy and in its sandbox."""
        self.sources.remember()
        before, tree = self.files.read_contents(), self.files.compute_hash()
        made = await self.run_action("shell", {"command": self.command, "timeout": MAX_TIMEOUT})
        self.files.ignore_writes(before)
        self.last = _read_result(made, self.workspace, tree)
        if self.last.outcome == "pass" and (told := await self.sources.find_failure()):
            detail = f"{self.last.detail}, but {told}"
            self.last = replace(self.last, outcome="fail", detail=detail, output=_PUT_BACK)
        if self.last.outcome == "pass":
            self.narrowing, counts = await self.sources.find_narrowing()
            if counts:
                detail = f"{self.last.detail}, but {self.narrowing}"
                self.last = replace(self.last, outcome="fail", detail=detail, output=_LEFT_OUT)
        return self.last


_PUT_BACK = (
    "What the check judges by is the user's: put these files back and do the work. If it cannot pass without"
    " a change of them, say so."
)

_LEFT_OUT = (
    "An earlier session changed these files and did not reach what was asked. Do the work so that the check passes"
    " with and without that change. If it cannot, say so."
)


@dataclass(slots=True, kw_only=True)
class RequirementsCheck:
    """The requirements of the task are met: those that code can check, at least one.

    verifier: judges each turn, as the last verifier of the session
    """

    verifier: Requirements
    files: ChangedFiles
    last: CheckResult | None = None
    runs_before: bool = False

    async def run(self) -> CheckResult:
        """Check all requirements, or return the results of the turn's end."""
        tree = self.files.compute_hash()
        if not self.verifier.results:
            await self.verifier.verify(Claim(is_done=False))
        found = [
            self.verifier.results[each.id]
            for each in self.verifier.requirements
            if each.kind != "group" and each.id in self.verifier.results
        ]
        checked = [each for each in found if each.evidence in ("executed", "static")]
        failed = sum(each.is_failure for each in checked)
        outcome: VerdictOutcome = "fail" if failed else "pass" if checked else "unknown"
        detail = (
            f"{failed} not met" if failed else f"{len(checked)} met" if checked else "none can be checked"
        )
        refused = "" if checked else "no requirement of the task can be checked by code"
        self.last = CheckResult(outcome=outcome, detail=detail, tree=tree, refused=refused)
        return self.last


def _read_result(made: Observation, workspace: Workspace, tree: str) -> CheckResult:
    lines = made.text.splitlines()
    if "exit" not in made.data:
        told = next((line.strip() for line in lines if line.strip()), "nothing came of it")[:200]
        return CheckResult(outcome="unknown", detail="not run", tree=tree, refused=told)
    code = int(made.data["exit"])
    passed = code == 0 and made.data.get("ended", "exited") == "exited"
    output = made.value.output if isinstance(made.value, ShellResult) else made.text
    quoted = "" if passed else quote_lines(lines[-MOST_QUOTED:])
    return CheckResult(
        outcome="pass" if passed else "fail",
        detail=describe_run(output, code, str(made.data.get("ended", "exited")), workspace.root),
        output=quoted,
        tree=tree,
    )
