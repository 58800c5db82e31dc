"""The one verdict on a turn that the model ended, from the facts at its end: outcome, and the reason a person reads.

It is computed from the files as they are: what a model claims decides only where no evidence does. A table, so that
every end is in one place (docs/exit-codes.md shows it); the first row that applies counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Literal

from agent.exit_codes import Exit
from agent.prompt.prompt_intent import ORDERS, PromptIntent
from sandbox.lazy_dataclass import dataclass

Claimed = Literal["done", "nothing to do", "not achieved", "proposed"]
Tests = Literal["passed", "failed", "unverified", "not-needed"]
CommitState = Literal["none", "due", "made", "failed", "withheld"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    """What is known at the end of a turn.

    intent: of the prompt and what the person typed since; of nobody's words for a child session and in mode read-only
    claimed: what the model says of the work; gave_up: the turn ended without an answer, or by a refusal
    tests: the check of the suite; last_run: outcome of the newest run of it, "" without one
    had_failures: tests failed before the first change of the turn
    is_modified: files of the session are changed, or the turn has committed some
    changed: the turn itself has changed or committed something; tried: it tried to, and every try failed
    denied: the last effective action was denied
    looked: something was read or run; says_needless: the answer says that nothing has to be done
    ran: tests, or a command that may be them, ran in the turn, whatever their outcome
    claims_run: the answer tells of a run of tests that has not been
    claims_commit: the answer tells of a commit
    objected: a check other than the tests fails
    commit: of the turn's changes, or one that was made for the prompt; can_commit: the harness makes commits
    uncommitted: files differ from the last commit, whoever changed them
    """

    intent: PromptIntent = field(default_factory=PromptIntent)
    claimed: Claimed = "done"
    gave_up: bool = False
    tests: Tests = "not-needed"
    last_run: str = ""
    had_failures: bool = False
    is_modified: bool = False
    changed: bool = False
    tried: bool = False
    denied: bool = False
    looked: bool = False
    says_needless: bool = False
    ran: bool = False
    claims_run: bool = False
    claims_commit: bool = False
    objected: bool = False
    commit: CommitState = "none"
    can_commit: bool = False
    uncommitted: bool = False

    @property
    def has_mended(self) -> bool:
        """Whether the tests that were to pass do: then no words of a model say otherwise."""
        mends = self.intent.wants_passing_tests or (self.intent.kind == "repair" and self.had_failures)
        return mends and self.changed and self.tests == "passed"

    @property
    def has_evaded_tests(self) -> bool:
        """Whether all tests that ran pass, and the check fails: some do not run any more, or know only their inputs."""
        return self.tests == "failed" and self.last_run == "passed"

    @property
    def gives_up(self) -> bool:
        """Whether the model does not claim success."""
        return (self.claimed in ("not achieved", "proposed") or self.gave_up) and not self.has_mended

    @property
    def lacks_change(self) -> bool:
        """Whether a change was asked for and none was made, nor found to be needless."""
        is_order = self.intent.kind in ORDERS and not self.changed
        passes = self.intent.kind == "repair" and self.intent.wants_passing_tests and self.tests == "passed"
        if not is_order or passes:
            return False
        return self.tried or not (self.claimed == "nothing to do" or (self.looked and self.says_needless))

    @property
    def lacks_commit(self) -> bool:
        """Whether a commit was asked for and none made, though something was there to commit, or the model says so."""
        is_asked = self.intent.wants_commit and self.intent.kind not in ("answer", "unclear")
        return is_asked and self.commit == "none" and (self.changed or self.uncommitted or self.claims_commit)

    @property
    def lacks_run(self) -> bool:
        """Whether tests were to be run, or are said to have been, and none were."""
        return (self.intent.wants_test_run and not self.ran) or self.claims_run

    @property
    def is_stuck(self) -> bool:
        """Whether the model says that it changed nothing, since it got nowhere."""
        return self.claimed == "not achieved" and not self.is_modified


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnVerdict:
    """Outcome of a turn. reason: why it is not a success, as a clause; "" where the outcome says it"""

    outcome: Exit
    reason: str = ""


COMMIT_FAILED = TurnVerdict(outcome=Exit.NOT_ACHIEVED, reason="the commit failed")

TESTS_EVADED = "tests were left out, or their answers stored"
NO_EDIT, NO_CHANGE = "no edit succeeded", "no file was changed"
NO_RUN = "no tests were run"
COMMIT_WITHHELD, NO_COMMIT = "the changes wait for you to commit them", "no commit was made"

BELIED_CLAIMS = (NO_EDIT, NO_CHANGE, NO_RUN, COMMIT_WITHHELD, COMMIT_FAILED.reason, NO_COMMIT)
"""Reasons of turns that are not achieved although the model does not say that it gave up."""


@dataclass(frozen=True, slots=True)
class _Row:
    applies: Callable[[TurnFacts], bool]
    outcome: Exit
    reason: str = ""


_ROWS = (
    _Row(lambda f: f.claimed == "proposed" and not f.is_modified, Exit.NOT_ACHIEVED),
    _Row(lambda f: f.denied and not f.is_modified and f.tests != "failed", Exit.DENIED),
    _Row(lambda f: f.objected, Exit.NOT_ACHIEVED, "a check objects"),
    _Row(lambda f: f.has_evaded_tests, Exit.NOT_ACHIEVED, TESTS_EVADED),
    _Row(lambda f: f.tests == "failed", Exit.TESTS_FAIL),
    _Row(lambda f: f.tests == "unverified" and (f.is_modified or f.claimed == "done"), Exit.NO_TEST_RUNNER),
    _Row(lambda f: f.lacks_change and f.tried and not f.gives_up, Exit.NOT_ACHIEVED, NO_EDIT),
    _Row(lambda f: f.claimed == "nothing to do" and not f.is_modified, Exit.NOTHING_TO_DO),
    _Row(lambda f: f.is_stuck and f.last_run == "no-runner", Exit.NO_TEST_RUNNER),
    _Row(lambda f: f.is_stuck and f.last_run in ("failed", "broken", "timeout"), Exit.TESTS_FAIL),
    _Row(lambda f: f.gives_up, Exit.NOT_ACHIEVED),
    _Row(lambda f: f.lacks_change, Exit.NOT_ACHIEVED, NO_CHANGE),
    _Row(lambda f: f.lacks_run and f.last_run == "no-runner", Exit.NO_TEST_RUNNER),
    _Row(lambda f: f.lacks_run, Exit.NOT_ACHIEVED, NO_RUN),
    _Row(lambda f: f.commit == "withheld", Exit.NOT_ACHIEVED, COMMIT_WITHHELD),
    _Row(lambda f: f.commit == "failed", COMMIT_FAILED.outcome, COMMIT_FAILED.reason),
    _Row(lambda f: f.lacks_commit, Exit.NOT_ACHIEVED, NO_COMMIT),
)


def judge_turn(facts: TurnFacts) -> TurnVerdict:
    """Return the verdict on a turn."""
    for row in _ROWS:
        if row.applies(facts):
            return TurnVerdict(outcome=row.outcome, reason=row.reason)
    return TurnVerdict(outcome=Exit.DONE)


def explain_verdict(facts: TurnFacts, verdict: TurnVerdict) -> str:
    """Return what a person reads after the model's words where the verdict is another; "" where they agree."""
    given_up = facts.claimed in ("not achieved", "proposed") or facts.gave_up
    if verdict.outcome is Exit.DONE and given_up:
        return "All tests pass with these changes: the work is done."
    if (
        verdict.outcome is Exit.NOT_ACHIEVED
        and given_up
        and facts.changed
        and facts.can_commit
        and facts.commit == "none"
    ):
        return "The changes so far are in your files, uncommitted."
    if verdict.reason == NO_COMMIT and facts.uncommitted and not facts.is_modified:
        return "A session commits what it changed itself. Your own changes: `git commit` or `patchwright commit`."
    return ""
