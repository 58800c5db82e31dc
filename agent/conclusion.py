"""How a turn is concluded: what it changed and committed, whether its tests were run, and its last event."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from agent.events import End, Event, ObservationEvent, Verification
from agent.limits import Tally
from agent.loop import TurnEnd
from agent.outcome import Exit
from agent.session import Session
from agent.verify.conclude import Evidence, judge, really_changed
from tools.action import Observation
from tools.workspace import Workspace

Act = Callable[[str, dict[str, object]], Awaitable[Observation]]
"""Does an action of the harness itself: a tool and its arguments."""


@dataclass(slots=True, kw_only=True)
class Conclusion:
    """Follows the log of one session, and ends its turns.

    evidence: the runs of the tests, and on what state of the files
    last_output: text of the newest observation
    """

    session: Session
    workspace: Workspace
    act: Act
    evidence: Evidence = field(init=False)
    last_output: str = ""
    _commits: list[str] = field(default_factory=list)
    _committed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.evidence = Evidence(self.workspace)

    def start(self) -> None:
        """A turn begins: what earlier ones committed is not its own."""
        self._commits.clear()
        self._committed.clear()

    def see(self, event: Event) -> None:
        """Take in an event as it is logged."""
        self.evidence.see(event)
        self.note(event)

    def note(self, event: Event) -> None:
        """Take in an event of the turn that was logged before: the state of its files is gone, its words are not."""
        if isinstance(event, ObservationEvent):
            self.last_output = event.text
            if commit := event.data.get("commit"):
                self._commits.append(str(commit))
                self._committed.update(str(path) for path in event.data.get("files", ()))
            if "summary" in event.data and (status := event.data.get("status")):
                self.workspace.facts["finish"] = status

    async def verify(self) -> Verification:
        """Run the whole suite if files were changed and it was not run since; log what came of it."""
        if not really_changed(self.workspace) and not self._commits:
            verification = Verification(outcome="not-needed", detail="no file was changed")
        else:
            if self.evidence.current() is None:
                await self.act("run_tests", {})
            report = self.evidence.current()
            before = self.evidence.first
            if report is not None:
                verification = judge(report, before)
            else:
                why = "the tests were refused" if self.evidence.denied else "the tests could not be run"
                verification = Verification(outcome="unverified", detail=why)
        self.session.append(verification)
        return verification

    def outcome(self, ended: TurnEnd, verification: Verification) -> Exit:
        """What a turn that the model ended comes to."""
        status = self.workspace.facts.get("finish", "done")
        if verification.outcome == "failed":
            return Exit.TESTS_FAIL
        if verification.outcome == "unverified":
            return Exit.NO_TEST_RUNNER
        if verification.outcome == "not-needed":
            report = self.evidence.last.report if self.evidence.last else {}
            if self.evidence.denied:
                return Exit.DENIED
            if status == "nothing to do":
                return Exit.NOTHING_TO_DO
            if status == "not achieved" and report.get("outcome") == "no-runner":
                return Exit.NO_TEST_RUNNER
            if status == "not achieved" and report.get("outcome") in ("failed", "broken", "timeout"):
                return Exit.TESTS_FAIL
        given_up = status == "not achieved" or ended.reason in ("refusal", "empty")
        return Exit.NOT_ACHIEVED if given_up else Exit.DONE

    def end(self, outcome: Exit, summary: str, tally: Tally, verification: Verification | None = None) -> End:
        """The last event of a turn."""
        return End(
            outcome=outcome.label,
            exit_code=int(outcome),
            summary=summary,
            steps=tally.steps,
            usage=tally.spent,
            files=sorted(self._committed.union(really_changed(self.workspace))),
            commit=self._commits[-1] if self._commits else "",
            verification=f"{verification.outcome}: {verification.detail}" if verification else "",
        )
