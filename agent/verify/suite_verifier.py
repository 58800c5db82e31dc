"""Verifier that runs the project's tests, and compares their failures with those before the turn."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from agent.events import Event, ObservationEvent, Prompt, Verification
from agent.model.routing.planner_executor import RECHECK
from agent.verify.baseline import Baseline
from agent.verify.suite_evidence import SuiteEvidence, describe_counts, judge_report, list_modified_files
from agent.verify.verdict import Claim, Verdict, VerdictOutcome
from agent.verify.weakened_tests import WeakenedTests
from sandbox.lazy_dataclass import dataclass
from tools.core.action import Observation
from tools.core.text import join_names
from tools.core.untrusted_output import quote_lines
from tools.core.workspace import Workspace

MOST_NAMED = 5
"""Old failures that are named: the report has them all."""

RunAction = Callable[[str, dict[str, object]], Awaitable[Observation]]

_OUTCOMES: Mapping[str, VerdictOutcome] = {"passed": "pass", "failed": "fail", "unverified": "unknown"}


@dataclass(slots=True, kw_only=True)
class SuiteVerifier:
    """The whole suite passes, apart from tests that failed before the turn in the same way.

    run_action: runs `run_tests` through the gateway
    evidence: the test runs, and the state of the files in each
    baseline: failures before the turn; None if they do not count
    verification: result of the last check, as it is logged
    last_output: text of the newest observation
    has_chosen_tests: a person chose a change as a whole in this turn, so that other tests may run than before it
    _has_lost_tests: changes that are not committed leave tests out, also those of an earlier turn
    """

    workspace: Workspace
    evidence: SuiteEvidence
    weakened_tests: WeakenedTests
    run_action: RunAction
    baseline: Baseline | None
    name: str = "tests"
    withholds_commit: bool = True
    verification: Verification = field(init=False)
    last_output: str = ""
    has_commits: bool = False
    has_chosen_tests: bool = False
    _suite_was_run: bool = False
    _has_advised: bool = False
    _has_lost_tests: bool = False

    def __post_init__(self) -> None:
        self.verification = _make_unneeded()

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`."""
        self._suite_was_run = self._has_advised = self.has_commits = self.has_chosen_tests = False
        self.verification = _make_unneeded()
        if self.baseline is not None:
            self.baseline.begin_turn()

    def track_event(self, event: Event) -> None:
        """See `Verifier.track_event`."""
        if self.baseline is not None:
            self.baseline.track_event(event)
        if isinstance(event, ObservationEvent):
            self.last_output = event.text
            report = event.data.get("report")
            self._suite_was_run |= isinstance(report, dict) and not report.get("targets")
            self.has_commits |= bool(event.data.get("commit"))
        elif isinstance(event, Prompt):
            self.last_output = ""

    async def verify(self, claim: Claim) -> Verdict | None:
        """Run the suite if files changed since its last run, or if the prompt wants it to pass."""
        changed = bool(list_modified_files(self.workspace)) or self.has_commits
        is_known = self.evidence.get_current_report() is not None
        if not changed and not self._should_make_tests_pass(claim.prompt):
            self.verification = _make_unneeded()
            return None
        if not is_known or not (changed or self._suite_was_run):
            await self.run_action("run_tests", {})
        self.verification = await self._judge(claim, changed=changed)
        if self.verification.outcome == "passed" and self._should_make_tests_pass(claim.prompt):
            self.verification = await self._compare_with_commit(self.verification, claim.prompt)
        advice = ""
        if self.verification.outcome == "failed" and changed and not is_known and not self._has_advised:
            self._has_advised = True
            advice = (
                f"{RECHECK}: {self.verification.detail}.\n"
                f"{quote_lines(self.last_output.splitlines())}\n"
                "Go on, or finish and say why not."
            )
        ref = str(self.verification.report.get("ref") or "")
        return Verdict(
            outcome=_OUTCOMES[self.verification.outcome],
            evidence="executed",
            name=self.name,
            detail=self.verification.detail,
            artifacts=(ref,) if ref else (),
            advice=advice,
        )

    async def _judge(self, claim: Claim, *, changed: bool) -> Verification:
        from tools.testing.run_comparison import describe_loss

        report = self.evidence.get_current_report()
        if report is None:
            why = "the tests were refused" if self.evidence.denied else "the tests could not be run"
            return Verification(outcome="unverified", detail=why)
        before = self.evidence.first if self.evidence.first is not report else None
        may_lose_tests = self.weakened_tests.has_requested_changes()
        judged = judge_report(report, before, may_lose_tests=may_lose_tests)
        if not changed:
            return judged
        if judged.outcome == "failed" and claim.is_done and self.baseline is not None:
            if before is not None and describe_loss(before, report) and not may_lose_tests:
                return judged
            old = await self.baseline.find_old_failures(report, self.evidence.before_turn)
            judged = _excuse_failures(judged, report, old, self._is_excusable(claim.prompt, old))
        if judged.outcome == "failed":
            return judged
        # Also where the model gives up: tests that pass with its changes would make the turn a success.
        baseline = self.baseline if not self.has_chosen_tests else None
        lost = await self._find_lost_tests(report, baseline) if baseline is not None else []
        if lost:
            return _blame_lost_tests(judged, lost)
        if self._orders_repair(claim.prompt) and (found := await self._find_keyed_answers()):
            return Verification(outcome="failed", detail=f"{found}; {judged.detail}", report=judged.report)
        return await self._check_scope(judged, report)

    async def _find_keyed_answers(self) -> str:
        """Return a sentence about a function that knows the tests' inputs only, "" if there is none."""
        texts = self.weakened_tests.read_changed_texts()
        if not any(path.endswith(".py") for path in texts):
            return ""
        from sandbox.extensions import load_extension

        found: str = await load_extension("checks", "keyed_answers")(self.workspace, texts)
        return found

    async def _check_scope(self, judged: Verification, report: Mapping[str, Any]) -> Verification:
        """Return the verification as unverified if no test of a changed package ran, or of one that depends on it."""
        paths = list_modified_files(self.workspace)
        if judged.outcome != "passed" or not paths:
            return judged
        from tools.testing.launch import SUITE_NAMES
        from tools.testing.packages import SuiteScope, find_unreached
        from tools.testing.project_files import Project

        passed, _ = self.workspace.facts.get(SUITE_NAMES) or (report.get("passed_tests", ()), ())
        names = [*passed, *(str(each.get("id", "")) for each in report.get("failures", ()))]
        scope = SuiteScope(runner=str(report.get("runner")), command=str(report.get("command")), names=names)
        reached, missed = await asyncio.to_thread(find_unreached, Project(self.workspace), paths, scope)
        if missed:
            detail = f"{judged.detail}; no test of {join_names(missed, MOST_NAMED)} ran (`{scope.command}`)"
            return Verification(outcome="unverified", detail=detail, report=judged.report)
        if reached:
            detail = f"{judged.detail}; {join_names(reached, MOST_NAMED)} included"
            return Verification(outcome="passed", detail=detail, report=judged.report)
        return judged

    async def _find_lost_tests(self, report: Mapping[str, Any], baseline: Baseline) -> list[str]:
        """Return the tests of the state before the turn that do not run any more, unless a prompt wants that."""
        known = self.evidence.before_turn or {}
        if known.get("counted", True) and known.get("passed_tests"):
            return []  # it was compared by name already
        if not (
            self._has_lost_tests
            or self.weakened_tests.may_have_left_out_tests(has_skipped=bool(report.get("skipped")))
        ):
            return []
        collected = await baseline.list_tests()
        if collected is None:
            return []
        from agent.verify.collected_tests import MOST_RERUN
        from tools.testing.launch import SUITE_NAMES

        passed, skipped = self.workspace.facts.get(SUITE_NAMES) or (
            report.get("passed_tests", ()),
            report.get("skipped_tests", ()),
        )
        failed = [str(each.get("id", "")) for each in report.get("failures", ())]
        lost = collected.list_lost(report, [*passed, *failed], skipped)
        in_doubt = collected.list_skipped(skipped)
        if in_doubt and len(in_doubt) <= MOST_RERUN:
            lost += await baseline.find_run_tests(in_doubt)
        lost = [each for each in lost if not self.weakened_tests.is_removed_by_request(each)]
        self._has_lost_tests = bool(lost)
        return lost

    async def _compare_with_commit(self, judged: Verification, prompt: str) -> Verification:
        """Return the verification with the failing tests that files without a commit leave out, if there are any."""
        from agent.verify.uncommitted_setup import find_uncommitted_setup
        from tools.testing.launch import SUITE_NAMES
        from tools.testing.run_comparison import list_lost_tests

        before = self.weakened_tests.read_contents_before()
        setup = await asyncio.to_thread(find_uncommitted_setup, self.workspace, [prompt], before=before)
        names = self.workspace.facts.get(SUITE_NAMES)
        if setup is None or names is None or self.baseline is None:
            return judged
        report = await self.baseline.run_with(setup.versions)
        failed = {each.id for each in report.failures} if report is not None else set()
        if report is None or not failed:
            return judged
        ran = [*names[0], *(str(each.get("id", "")) for each in judged.report.get("failures", ()))]
        lost = [each for each in list_lost_tests([*report.passed_tests, *failed], ran) if each in failed]
        if not lost:
            return judged
        if setup.is_left_behind:
            return _blame_lost_tests(judged, lost, f" ({setup.describe()})")
        detail = f"{judged.detail}; not run, since {setup.describe()}: {join_names(lost, MOST_NAMED)}"
        return replace(judged, detail=detail)

    def _should_make_tests_pass(self, prompt: str) -> bool:
        """Return whether the prompt wants failing tests to pass. After a denial, nothing more is tried."""
        from agent.prompt.prompt_reader import read_intent

        return read_intent(prompt).wants_passing_tests and not self.evidence.denied

    def _orders_repair(self, prompt: str) -> bool:
        """Return whether the prompt wants failing tests to pass, or code to be mended."""
        from agent.prompt.prompt_reader import read_intent

        intent = read_intent(prompt)
        return (intent.wants_passing_tests or intent.kind == "repair") and not self.evidence.denied

    def _is_excusable(self, prompt: str, old: Collection[str]) -> bool:
        """Return whether the old failures are no concern of the prompt: it wants no tests to pass, or others."""
        from agent.prompt.named_tests import list_named_tests
        from agent.prompt.prompt_reader import read_intent

        if not old or not read_intent(prompt).wants_passing_tests:
            return True
        named = list_named_tests(prompt, old)
        return named is not None and not named


def _make_unneeded() -> Verification:
    return Verification(outcome="not-needed", detail="no file was changed")


def _blame_lost_tests(judged: Verification, lost: Sequence[str], why: str = "") -> Verification:
    """Return the verification as failed, with the lost tests named."""
    detail = f"not run any more: {join_names(lost, MOST_NAMED)}{why}; {judged.detail}"
    return Verification(outcome="failed", detail=detail, report=judged.report)


def _excuse_failures(
    judged: Verification, report: Mapping[str, Any], old: Collection[str], excusable: bool
) -> Verification:
    """Return the verification with the old failures named: passed, if there are no others."""
    if not old:
        return judged
    names = list(dict.fromkeys(str(each["id"]) for each in report["failures"]))
    kept = [each for each in names if each in old]
    told = f"{len(kept)} failed before this turn as well: {join_names(kept, MOST_NAMED)}"
    if len(kept) == len(names) and excusable:
        return Verification(
            outcome="passed", detail=f"{describe_counts(report)}; {told}", report=dict(report)
        )
    return Verification(outcome="failed", detail=f"{judged.detail}; {told}", report=judged.report)
