"""Conclusion of a turn: its changes and commits, its verification, and its last event."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from agent.events import End, ErrorEvent, Event, ObservationEvent, Prompt, Signal, Verification
from agent.exit_codes import BY_FAULT, Exit
from agent.session.log import Session
from agent.turn.auto_commit import Act, Committer
from agent.turn.limits import Tally
from agent.turn.loop import HarnessText, Loop
from agent.turn.step_policy import TurnEnd
from agent.verify.suite_evidence import SuiteEvidence, judge_report, list_modified_files
from agent.verify.weakened_tests import WeakenedTests
from sandbox.errors import UserError
from sandbox.fs.private_files import write_private_file
from sandbox.secrets.child_environment import redact
from tools.core.untrusted_output import quote_lines
from tools.core.workspace import Workspace
from tools.session.finish import PROPOSED

RECHECKS = 1
"""How often a turn that claims to be done while tests fail is returned to the model with the failures."""

_EARLY_ENDS = {"limit": Exit.LIMIT, "interrupted": Exit.INTERRUPTED}
"""Exit codes of turns that end before the model is done, so that nothing is verified."""


@dataclass(slots=True, kw_only=True)
class TurnConclusion:
    """Follows the log of one session, and concludes its turns.

    evidence: the test runs, and the state of the files in each
    weakened_tests: the guard against weakened tests
    last_output: text of the newest observation
    """

    session: Session
    workspace: Workspace
    run_action: Act
    evidence: SuiteEvidence = field(init=False)
    weakened_tests: WeakenedTests = field(init=False)
    last_output: str = ""
    _prompt: str = ""
    _suite_was_run: bool = False
    _commits: list[str] = field(default_factory=list)
    _committed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.evidence = SuiteEvidence(self.workspace)
        self.weakened_tests = WeakenedTests(self.workspace)

    def begin_turn(self) -> None:
        """Reset the per-turn state: commits of earlier turns do not count."""
        self._commits.clear()
        self._committed.clear()
        self._suite_was_run = False

    def handle_event(self, event: Event) -> None:
        """Handle an event as it is logged."""
        self.evidence.handle_event(event)
        if isinstance(event, Prompt):
            self.weakened_tests.begin_turn()
        self.track_event(event)

    def track_event(self, event: Event) -> None:
        """Handle an event that was logged before a resume: its text is known, the state of its files is not."""
        self.weakened_tests.handle_event(event)
        if isinstance(event, Prompt):
            self._prompt = event.text
        if isinstance(event, ObservationEvent):
            self.last_output = event.text
            report = event.data.get("report")
            self._suite_was_run |= isinstance(report, dict) and not report.get("targets")
            if commit := event.data.get("commit"):
                self._commits.append(str(commit))
                self._committed.update(str(path) for path in event.data.get("files", ()))
            if "summary" in event.data and (status := event.data.get("status")):
                self.workspace.facts["finish"] = status

    @property
    def has_changes(self) -> bool:
        """Whether the session has uncommitted changes, or this turn has committed some."""
        return bool(list_modified_files(self.workspace) or self._commits)

    async def verify_turn(self) -> Verification:
        """Run the whole suite if files changed since its last run, or if it is to pass; log the result."""
        changed = self.has_changes
        if not changed and not self._should_make_tests_pass():
            verification = Verification(outcome="not-needed", detail="no file was changed")
        else:
            if self.evidence.get_current_report() is None or not (changed or self._suite_was_run):
                await self.run_action("run_tests", {})
            report = self.evidence.get_current_report()
            before = self.evidence.first if self.evidence.first is not report else None
            if report is not None:
                verification = judge_report(
                    report, before, may_lose_tests=self.weakened_tests.has_requested_changes()
                )
            else:
                why = "the tests were refused" if self.evidence.denied else "the tests could not be run"
                verification = Verification(outcome="unverified", detail=why)
        self.session.append(verification)
        return verification

    def _should_make_tests_pass(self) -> bool:
        """Return whether the prompt wants failing tests to pass. After a denial, nothing more is tried."""
        from agent.verify.prompt_intent import (
            asks_for_passing_tests,  # its patterns take 8 ms to compile: not at the start
        )

        return asks_for_passing_tests(self._prompt) and not self.evidence.denied

    def report_weakened_tests(self) -> str:
        """Return the note for the model on tests that it weakened; "" if there are none, or it was sent before."""
        report = self.weakened_tests.report_to_model()
        return f"Before this is done: {report}" if report else ""

    def withhold_commit(self, *, commits: bool) -> str:
        """Return, and log, why the user has to commit this turn's changes; "" if no test is weakened.

        commits: they would be committed now
        """
        report = self.weakened_tests.report_to_person(commits=commits)
        if report:
            self.session.append(Signal(name="weakened-tests", detail=report))
        return report

    def determine_outcome(self, ended: TurnEnd, verification: Verification) -> Exit:
        """Return the exit code of a turn that the model ended."""
        status, changed = self.workspace.facts.get("finish", "done"), self.has_changes
        if status == PROPOSED and not changed:
            return Exit.NOT_ACHIEVED
        if verification.outcome == "failed":
            return Exit.TESTS_FAIL
        if verification.outcome == "unverified" and (changed or status == "done"):
            return Exit.DENIED if self.evidence.denied and not changed else Exit.NO_TEST_RUNNER
        if not changed:
            report = self.evidence.last.report if self.evidence.last else {}
            if self.evidence.denied:
                return Exit.DENIED
            if status == "nothing to do":
                return Exit.NOTHING_TO_DO
            if status == "not achieved" and report.get("outcome") == "no-runner":
                return Exit.NO_TEST_RUNNER
            if status == "not achieved" and report.get("outcome") in ("failed", "broken", "timeout"):
                return Exit.TESTS_FAIL
        given_up = status in ("not achieved", PROPOSED) or ended.reason in ("refusal", "empty")
        return Exit.NOT_ACHIEVED if given_up else Exit.DONE

    def create_end_event(
        self, outcome: Exit, summary: str, tally: Tally, verification: Verification | None = None
    ) -> End:
        """Return the last event of a turn."""
        return End(
            outcome=outcome.label,
            exit_code=int(outcome),
            summary=summary,
            steps=tally.steps,
            usage=tally.usage,
            files=sorted(self._committed.union(list_modified_files(self.workspace))),
            commit=self._commits[-1] if self._commits else "",
            verification=f"{verification.outcome}: {verification.detail}" if verification else "",
        )


async def run_to_end(
    loop: Loop, conclusion: TurnConclusion, committer: Committer, cut_off: TurnEnd | None
) -> End:
    """Run the loop, verify and commit. cut_off: end of the turn before a kill; the loop is skipped then."""
    rechecks = 0
    while True:
        if cut_off is None:
            conclusion.workspace.facts.pop("finish", None)
        ended = cut_off or await loop.run()
        cut_off = None
        if ended.reason in _EARLY_ENDS:
            return conclusion.create_end_event(_EARLY_ENDS[ended.reason], ended.detail, loop.tally)
        known = conclusion.evidence.get_current_report()
        verification = await conclusion.verify_turn()
        changed = conclusion.has_changes
        if verification.outcome == "failed" and changed and known is None and rechecks < RECHECKS:
            rechecks += 1
            loop.inbox.append(
                HarnessText(
                    "The tests were run after your changes, and fail: "
                    f"{verification.detail}.\n{quote_lines(conclusion.last_output.splitlines())}\n"
                    "Go on, or finish and say why not."
                )
            )
            continue
        if weakened := conclusion.report_weakened_tests():
            loop.inbox.append(HarnessText(weakened))
            continue
        outcome = conclusion.determine_outcome(ended, verification)
        summary = ended.text
        if withheld := conclusion.withhold_commit(commits=committer.when != "never"):
            outcome = Exit.NOT_ACHIEVED if outcome is Exit.DONE else outcome
            summary = f"{ended.text}\n\n{withheld}".strip()
        elif verification.outcome == "passed":
            await committer.commit_after_turn(ended.text)
        return conclusion.create_end_event(outcome, summary, loop.tally, verification)


def describe_error(error: Exception, folder: Path) -> tuple[ErrorEvent, Exit]:
    """Return the event and the exit code of a turn that an error ended.

    folder: of the session; the traceback of an internal error is written there
    """
    if isinstance(error, UserError):
        event = ErrorEvent(fault=error.fault, message=error.message, hint=error.hint)
        return event, BY_FAULT[error.fault]
    import traceback

    report = folder / "traceback.txt"
    try:
        text = redact("".join(traceback.format_exception(error)))
        write_private_file(report, text.encode("utf-8", "replace"))
    except OSError:  # the disk may be the cause; the event still reports the error
        report = Path("(not written)")
    message = f"{type(error).__name__}: {error}"
    return ErrorEvent(fault="internal", message=message, hint=f"Traceback: {report}"), Exit.INTERNAL
