"""Conclusion of a turn: its changes and commits, its verdicts, and its last event."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol

from agent.budget.limits import Tally
from agent.events import (
    End,
    Event,
    ObservationEvent,
    Prompt,
    Signal,
    VerdictEvent,
    Verification,
)
from agent.exit_codes import Exit
from agent.monitor.answers import GO_ON, GoOn, StopTurn, TellModel, TurnEnd
from agent.prompt.prompt_intent import PromptIntent
from agent.session.log import Session
from agent.session_settings import NamedRule, VerifySettings
from agent.turn.auto_commit import Committer
from agent.turn.refused_commits import OtherCommits, RefusedCommits
from agent.turn.turn_start import TurnStart
from agent.turn.turn_verdict import (
    Claimed,
    TurnFacts,
    TurnVerdict,
)
from agent.verify.baseline import Baseline
from agent.verify.gaming.notices import GamingNotices
from agent.verify.suite_evidence import SuiteEvidence, list_modified_files
from agent.verify.suite_verifier import RunAction, SuiteVerifier
from agent.verify.verdict import Claim, Verdict, Verifier, ask_verifier, combine_verdicts
from agent.verify.weakened_tests import WeakenedTests, WeakenedTestsVerifier
from sandbox.extensions import load_extension
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode
from tools.changes.change_tracker import Snapshotter
from tools.core.registry import Toolbox
from tools.core.workspace import Workspace
from tools.session.finish import PROPOSED

if TYPE_CHECKING:
    from agent.verify.reproducer import Reproducer

MOST_ADVICE = 3
"""How often one verifier may return a turn to the model; what it still has to say then is left to the user."""

_HURRIED = (Exit.INTERRUPTED, Exit.LIMIT)

_PATIENCE = 0.1
"""Seconds that the end of such a turn takes to compare files: further ones that changed are taken as modified."""


class TurnWork(Protocol):
    """Something that fills a turn in place of the loop, between its prompt and its verification.

    settings: logged with the prompt, so that a resumed session makes the same again
    takes_advice: it is run again with the advice of a failing verifier, which is in the loop's inbox; asked after
        each run
    """

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def takes_advice(self) -> bool: ...

    async def run(self) -> TurnEnd:
        """Do the work, or what is left of it after a kill."""


Prepared = GoOn | TellModel | StopTurn
"""Answer of a preparation: nothing, a text for the model's first request, or the end of the turn."""


class Preparation(Protocol):
    """Something that looks at a prompt before the work on it begins, such as a check of the specification."""

    async def prepare_turn(self, prompt: str) -> Prepared:
        """Look at the prompt of a turn that begins; a turn that is resumed is not prepared again."""


@dataclass(slots=True, kw_only=True)
class TurnConclusion:
    """Follows the log of one session, and concludes its turns by the verdicts of its verifiers.

    evidence: the test runs, and the state of the files in each
    rules: the user's; those on tests have a verifier each
    refused_commits: why changes are not committed; other_commits: those that are not the session's
    weakened_tests: the guard against weakened tests
    verifiers: asked in this order; `suite` and the one of the weakened tests are the first
    reproduction: makes a script of the prompt's bug report; None where the settings do not want it
    preparations: asked in this order before the work of a turn
    verdicts: their last answers; answer: the model's text that they judged
    is_child: another session wrote the prompts, whose words are no person's
    """

    session: Session
    workspace: Workspace
    run_action: RunAction
    settings: VerifySettings = field(default_factory=VerifySettings)
    rules: Sequence[NamedRule] = ()
    get_snapshots: Callable[[], Snapshotter | None] = lambda: None
    evidence: SuiteEvidence = field(init=False)
    weakened_tests: WeakenedTests = field(init=False)
    suite: SuiteVerifier = field(init=False)
    verifiers: list[Verifier] = field(init=False)
    refused_commits: RefusedCommits = field(init=False)
    other_commits: OtherCommits = field(init=False)
    reproduction: Reproducer | None = None
    preparations: list[Preparation] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    answer: str = ""
    is_child: bool = False
    _prompt: str = ""
    _commits: list[str] = field(default_factory=list)
    _committed: set[str] = field(default_factory=set)
    _advice: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.evidence = SuiteEvidence(self.workspace)
        self.weakened_tests = WeakenedTests(self.workspace)
        self.refused_commits = RefusedCommits(self.workspace)
        self.other_commits = OtherCommits(self.workspace)
        baseline = Baseline(workspace=self.workspace, get_snapshots=self.get_snapshots)
        self.suite = SuiteVerifier(
            workspace=self.workspace,
            evidence=self.evidence,
            weakened_tests=self.weakened_tests,
            run_action=self.run_action,
            baseline=baseline if self.settings.baseline else None,
        )
        self.verifiers = [self.suite, WeakenedTestsVerifier(tests=self.weakened_tests)]
        self.verifiers.append(GamingNotices(workspace=self.workspace, guard=self.weakened_tests))
        if self.settings.lint:
            from agent.verify.changed_lines_lint import ChangedLinesLint

            self.verifiers.append(ChangedLinesLint(workspace=self.workspace))
        if self.settings.reproduce:
            self._add_reproduction()
        if self.rules:
            self._add_required_tests()
        if self.settings.requirements == "auto" and not self.is_child:
            self.verifiers.append(load_extension("checks", "late_requirements")(self))

    async def prepare_turn(self, prompt: str) -> Prepared:
        """Do what the settings want before the work: return text for the model, or that the turn is over."""
        told = []
        for each in self.preparations:
            answer = await each.prepare_turn(prompt)
            if isinstance(answer, StopTurn):
                return answer
            told += [answer.text] if isinstance(answer, TellModel) else []
        told.append(await self._reproduce(prompt))
        text = "\n\n".join(filter(None, told))
        return TellModel(text=text) if text else GO_ON

    async def _reproduce(self, prompt: str) -> str:
        """Reproduce the bug that a prompt reports, where the settings want it; return text for the model."""
        wanted = self.reproduction is not None and self.settings.reproduce
        if self.reproduction is None or not wanted or self.workspace.mode is Mode.READ_ONLY:
            return ""
        told = await self.reproduction.reproduce_prompt(prompt)
        if told.detail:
            self.session.append(Signal(name="reproduction", detail=told.detail))
        return told.text

    def offer_reproduction(self, toolbox: Toolbox) -> None:
        """Offer the tool `reproduce`, whose script joins the verdicts."""
        if toolbox.get("reproduce") is not None:
            return
        verifier = self.reproduction or self._add_reproduction()
        toolbox.add([verifier.build_tool(keeps_test=self.settings.keep_reproduction)])

    async def keep_reproduction(self) -> None:
        """Write the turn's script as a test of the project, where the settings want it and files were changed."""
        reproduction = self.reproduction
        kept = reproduction.kept if reproduction is not None else None
        if (
            reproduction is None
            or kept is None
            or not self.settings.keep_reproduction
            or not list_modified_files(self.workspace)
        ):
            return
        path = reproduction.choose_test_path(kept.script)
        if not self.workspace.files.is_file(path):
            await self.run_action("write", {"path": path, "content": kept.script})

    def _add_reproduction(self) -> Reproducer:
        added: Reproducer = load_extension("checks", "reproduction")(workspace=self.workspace)
        self.reproduction = added
        self.verifiers.append(added)
        return added

    def _add_required_tests(self) -> None:
        from agent.rules.required_tests import RequiredTests
        from agent.rules.rule_kinds import TestsRule

        for rule in self.rules:
            if isinstance(rule, TestsRule):
                self.verifiers.append(
                    RequiredTests(rule=rule, workspace=self.workspace, run_action=self.run_action)
                )

    def begin_turn(self, start: TurnStart) -> None:
        """Reset the per-turn state: commits of earlier turns do not count."""
        self._commits.clear()
        self._committed.clear()
        self._advice.clear()
        self.refused_commits.begin_turn()
        self.other_commits.begin_turn(start)
        for each in self.verifiers:
            each.begin_turn()

    def handle_event(self, event: Event) -> None:
        """Handle an event as it is logged."""
        self.evidence.handle_event(event)
        if isinstance(event, Prompt):
            self.weakened_tests.begin_turn()
        self.track_event(event)

    def track_event(self, event: Event) -> None:
        """Handle an event that was logged before a resume: its text is known, the state of its files is not."""
        for each in self.verifiers:
            each.track_event(event)
        if isinstance(event, Prompt):
            self._prompt = event.text
        if isinstance(event, ObservationEvent):
            if commit := event.data.get("commit"):
                self._commits.append(str(commit))
                self._committed.update(str(path) for path in event.data.get("files", ()))
            self.refused_commits.track(event.text, event.data)
            if "summary" in event.data and (status := event.data.get("status")):
                self.workspace.facts["finish"] = status

    @property
    def has_changes(self) -> bool:
        """Whether the session has uncommitted changes, or this turn has committed some."""
        return bool(list_modified_files(self.workspace) or self._commits)

    async def collect_verdicts(self, ended: TurnEnd, *, for_model: bool = True) -> str:
        """Ask the verifiers and log their verdicts; return the advice of the first that has some for the model.

        The others are then not asked: the model goes on. for_model: there is one that can
        """
        self.verdicts, self.answer = [], ended.text
        gives_up = self._status in ("not achieved", PROPOSED) or ended.gave_up
        claim = Claim(prompt=self._prompt, answer=ended.text, is_done=not gives_up)
        for verifier in self.verifiers:
            verdict = await ask_verifier(verifier, claim)
            if verifier is self.suite:
                self.session.append(self.suite.verification)
            if verdict is None:
                continue
            self.verdicts.append(verdict)
            self.session.append(
                VerdictEvent(
                    name=verdict.name,
                    outcome=verdict.outcome,
                    evidence=verdict.evidence,
                    detail=verdict.detail,
                    artifacts=list(verdict.artifacts),
                )
            )
            advises = for_model and verdict.is_failure and bool(verdict.advice)
            if advises and self._advice[verdict.name] < MOST_ADVICE:
                self._advice[verdict.name] += 1
                return verdict.advice
        return ""

    @property
    def verification(self) -> Verification:
        """Result of the last run of the suite at the end of a turn."""
        return self.suite.verification

    @property
    def _status(self) -> Claimed:
        claimed: Claimed = self.workspace.facts.get("finish", "done")
        return claimed

    def withhold_commit(self, *, commits: bool) -> str:
        """Return, and log, why the user has to commit this turn's changes; "" if they may be committed.

        commits: they would be committed now
        """
        report = self.weakened_tests.report_to_person(commits=commits)
        if report:
            self.session.append(Signal(name="weakened-tests", detail=report))
        holding = {each.name for each in self.verifiers if each.withholds_commit} - {
            "tests",
            "weakened-tests",
        }
        failed = [
            each.detail or each.name for each in self.verdicts if each.is_failure and each.name in holding
        ]
        return "\n\n".join(filter(None, [report, *failed]))

    def collect_facts(self, ended: TurnEnd, *, withheld: bool, can_commit: bool) -> TurnFacts:
        """Return what is known of a turn that the model ended, before its changes are committed."""
        # Their patterns are not needed before a turn ends.
        from agent.verify.gaming.claims import claims_commit, says_needless
        from agent.verify.invented_output import claims_run

        prompts = self.weakened_tests.prompts
        trace, last = self.weakened_tests.trace, self.evidence.last
        before = self.evidence.before_turn or {}
        owes_nothing = (
            self.is_child or self.workspace.mode is Mode.READ_ONLY
        )  # such a session can only answer
        intent = PromptIntent() if owes_nothing else self.weakened_tests.read_intent()
        changed = bool(self._commits) or self.weakened_tests.has_turn_changes()
        has_order = intent.wants_test_run or intent.kind not in ("answer", "unclear")
        ran = trace.may_have_run_tests(self.workspace.root)
        may_claim = not (ran or self.is_child) and self.evidence.get_current_report() is None
        return TurnFacts(
            intent=intent,
            claimed=self._status,
            gave_up=ended.gave_up,
            tests=self.verification.outcome,
            last_run=str(last.report.get("outcome", "")) if last is not None else "",
            had_failures=before.get("outcome") == "failed",
            is_modified=self.has_changes,
            changed=changed or (intent.wants_change and trace.has_other_effect(self.workspace)),
            tried=trace.has_tried,
            denied=self.evidence.denied,
            looked=trace.has_looked,
            says_needless=says_needless(ended.text),
            ran=ran,
            claims_run=may_claim and claims_run(ended.text, self.session, prompts, has_order=has_order),
            claims_commit=claims_commit(ended.text),
            objected=combine_verdicts(
                each for each in self.verdicts if each.name not in ("tests", "weakened-tests")
            )
            == "fail",
            commit="withheld" if withheld else "due",
            can_commit=can_commit,
        )

    async def commit_turn(self, committer: Committer, ended: TurnEnd) -> None:
        """Commit the turn's changes where the settings want it."""
        if caller := await committer.find_calling_git():
            detail = f"not committed: this runs in a hook of {caller}, which commits itself"
            self.session.append(Signal(name="commit", detail=detail))
        elif (made := await committer.commit_after_turn(ended)) is not None:
            self.refused_commits.track_due_commit(made.text, made.data)

    async def add_commit(self, facts: TurnFacts) -> TurnFacts:
        """Return the facts with what became of the commit, unless the changes wait for the user to commit them."""
        if facts.commit == "withheld":
            return facts
        if self.refused_commits.reason:
            return replace(facts, commit="failed")
        if self._commits:
            return replace(facts, commit="made")
        return await self.other_commits.add_to(replace(facts, commit="none"))

    def conclude(self, verdict: TurnVerdict, summary: str, tally: Tally) -> End:
        """Return the last event of a turn that the model ended."""
        if reason := self.refused_commits.reason:
            summary = f"{summary}\n\nNot committed: {reason}".strip()
        return self.create_end_event(
            verdict.outcome, summary, tally, self.verification, verdict.reason or None
        )

    def create_end_event(
        self,
        outcome: Exit,
        summary: str,
        tally: Tally,
        verification: Verification | None = None,
        reason: str | None = None,
    ) -> End:
        """Return the last event of a turn.

        reason: why it was not achieved, as a clause
        """
        patience = math.inf if outcome not in _HURRIED else _PATIENCE
        return End(
            outcome=outcome.label,
            exit_code=int(outcome),
            reason=reason,
            summary=summary,
            steps=tally.steps,
            usage=tally.usage,
            files=sorted(self._committed.union(list_modified_files(self.workspace, seconds=patience))),
            commit=self._commits[-1] if self._commits else "",
            verification=f"{verification.outcome}: {verification.detail}" if verification else "",
            not_committed=self.refused_commits.reason or None,
        )
