"""Verifier of a rule on tests: they, and its command, pass at the end of a turn that changed files."""

from __future__ import annotations

from agent.events import Event, ObservationEvent
from agent.rules.rule_kinds import TestsRule
from agent.verify.suite_evidence import list_modified_files
from agent.verify.suite_verifier import RunAction
from agent.verify.verdict import Claim, Verdict
from sandbox.lazy_dataclass import dataclass
from tools.core.action import Observation
from tools.core.text import join_names
from tools.core.untrusted_output import quote_lines
from tools.core.workspace import Workspace

MOST_QUOTED = 40
"""Last lines of an output that the model is shown: a summary of failures is at the end."""


@dataclass(slots=True, kw_only=True)
class RequiredTests:
    """The tests and the command of one rule pass. run_action: runs a tool through the gateway"""

    rule: TestsRule
    workspace: Workspace
    run_action: RunAction
    withholds_commit: bool = True
    has_commits: bool = False

    @property
    def name(self) -> str:
        """See `Verifier.name`."""
        return f"rule {self.rule.name}"

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`."""
        self.has_commits = False

    def track_event(self, event: Event) -> None:
        """See `Verifier.track_event`."""
        if isinstance(event, ObservationEvent):
            self.has_commits |= bool(event.data.get("commit"))

    async def verify(self, claim: Claim) -> Verdict | None:
        """Run them; None if no file was changed."""
        if not list_modified_files(self.workspace) and not self.has_commits:
            return None
        if self.rule.tests:
            made = await self.run_action("run_tests", {"targets": list(self.rule.tests)})
            report = made.data.get("report")
            outcome = str(report.get("outcome")) if isinstance(report, dict) else ""
            if outcome != "passed":
                return self._build_verdict(made, f"{join_names(self.rule.tests, 5)} must pass", bool(outcome))
        if self.rule.command:
            made = await self.run_action("shell", {"command": self.rule.command})
            if made.failed:
                return self._build_verdict(made, f"`{self.rule.command}` must succeed", "exit" in made.data)
        return Verdict(outcome="pass", evidence="executed", name=self.name)

    def _build_verdict(self, made: Observation, need: str, was_run: bool) -> Verdict:
        """Return the verdict on what did not pass; what cannot be run has not passed either."""
        message = f" ({self.rule.message})" if self.rule.message else ""
        detail = f"the user's rule {self.rule.name!r}: {need}{message}"
        if not was_run:
            detail += "; it could not be run"
        shown = quote_lines(made.text.splitlines()[-MOST_QUOTED:])
        return Verdict(
            outcome="fail",
            evidence="executed",
            name=self.name,
            detail=detail,
            artifacts=(made.ref,) if made.ref else (),
            advice=f"Before this is done: {detail}.\n{shown}\nGo on, or finish and say why not.",
        )
