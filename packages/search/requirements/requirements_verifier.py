"""Verifier of the requirements of a turn: code checks each at its end, and tells what is met, by which evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Protocol

from agent.events import Event, RequirementsEvent, VerdictEvent, Verification
from agent.monitor.answers import GO_ON, GoOn
from agent.verify.requirement import (
    EXECUTED_KINDS,
    OWN_SOURCES,
    Requirement,
    Result,
    combine_groups,
    list_results,
    number_requirements,
    restore_requirement,
    walk_tree,
)
from agent.verify.suite_verifier import RunAction
from agent.verify.verdict import Claim, Evidence, Verdict, VerdictOutcome
from packages.search.requirements.turn_changes import TurnChanges
from packages.search.requirements.work_trace import WorkTrace
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from packages.search.requirements.executed.behavior_runs import FunctionRuns

NAME, SCOPE = "requirements", "scope"
"""Names of the verdicts: on what was asked, and of what was not or lacks, which decides nothing."""

UNTRUSTED = "not run: the file is the project's; to trust its commands: patchwright trust --requirements FILE"

MOST_RETURNED = 3
"""How often a turn goes back to its model, which then corrects it: a model's opinion is asked after that."""


class Advice(Protocol):
    """A model's part: more requirements, and opinions on those that no code can check."""

    async def propose(self, prompt: str, known: Sequence[Requirement]) -> Sequence[Requirement]:
        """Return more requirements of a prompt."""

    async def review(
        self, requirements: Sequence[Requirement], prompt: str, diff: str, trace: str
    ) -> Mapping[str, Result]:
        """Return opinions by id."""


@dataclass(slots=True, kw_only=True)
class RequirementsVerifier:
    """The requirements of the prompt, of a file and of the user are met.

    run_action: runs commands and tests through the gateway; get_verification: returns that of the suite
    record: appends an event to the log
    may_run: whether code may be run in the sandbox: not once tests were refused in the turn
    file: requirements of every turn; trusted: sources whose commands may be run
    advice: by a model; None without one
    correct_prompt: returns a prompt as its user has corrected it before the work
    spans_turns: the next turns go on with the same task: its requirements, and the changes since its first turn
    reads_late: the prompt is read at the end, if files changed: what is found is checked, and nothing else is said
    """

    workspace: Workspace
    run_action: RunAction
    get_verification: Callable[[], Verification]
    record: Callable[[Event], object]
    may_run: Callable[[], bool] = lambda: True
    file: Sequence[Requirement] = ()
    trusted: frozenset[str] = OWN_SOURCES
    advice: Advice | None = None
    correct_prompt: Callable[[str], str] = lambda prompt: prompt
    name: str = NAME
    withholds_commit: bool = True
    spans_turns: bool = False
    reads_late: bool = False
    requirements: list[Requirement] = field(default_factory=list)
    results: dict[str, Result] = field(default_factory=dict)
    _added: list[Requirement] = field(default_factory=list)
    _returned: int = 0
    _is_read: bool = False
    _told: set[str] = field(default_factory=set)
    _returned_diff: str | None = None
    _compared: tuple[str, list[FunctionRuns]] = ("", [])
    _changes: TurnChanges = field(init=False)
    _trace: WorkTrace = field(default_factory=WorkTrace)

    def __post_init__(self) -> None:
        self._changes = TurnChanges(workspace=self.workspace)

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`. What a user added before it is kept."""
        self.results = {}
        self._told.clear()
        self._returned, self._returned_diff, self._is_read = 0, None, False
        if self.spans_turns and self.requirements:
            return
        self.requirements = []
        self._changes.reset()
        self._trace.begin_turn()
        if self.reads_late:
            self._changes.begin_turn()

    def track_event(self, event: Event) -> None:
        """Follow the changes; restore the requirements of a turn that a kill or a limit interrupted."""
        self._changes.track_event(event)
        if self.advice is not None:
            self._trace.track_event(event)
        if isinstance(event, RequirementsEvent) and event.stage == "known" and not self.requirements:
            self.requirements = [restore_requirement(each) for each in event.items]

    async def prepare_turn(self, prompt: str) -> GoOn:
        """Collect the requirements of a prompt, and log them; none where nothing can be changed, as for a plan."""
        if self.workspace.mode is Mode.READ_ONLY:
            return GO_ON
        if self.spans_turns and self.requirements:
            self.record(RequirementsEvent(items=[asdict(each) for each in self.requirements]))
            return GO_ON
        from packages.search.requirements.extraction import extract_requirements

        self._changes.begin_turn()  # and not before: what the user has just corrected is no part of the work
        prompt = self.correct_prompt(prompt)
        found = list(self.file)
        for more in (self._added, extract_requirements(prompt)):
            known = {(each.kind, each.check) for each in found if each.kind not in ("group", "judged")}
            fresh = [each for each in more if (each.kind, each.check) not in known]
            found += number_requirements(_drop_empty_groups(fresh), found)
        self._added = []
        if self.advice is not None:
            found += number_requirements(list(await self.advice.propose(prompt, found)), found)
        self.requirements = found
        if found:
            self.record(RequirementsEvent(items=[asdict(each) for each in found]))
        return GO_ON

    def add(self, requirements: Sequence[Requirement]) -> list[Requirement]:
        """Add requirements of the user to the running turn, or to the next one; return them with their ids."""
        made = number_requirements(list(requirements), [*self.requirements, *self._added])
        self._added += made
        self.requirements += made
        return made

    def drop(self, id_: str) -> bool:
        """Drop a requirement with those below it; return whether there was one."""
        gone = {id_}
        for _, each in walk_tree(self.requirements):
            if each.parent in gone:
                gone.add(each.id)
        was = len(self.requirements)
        self.requirements = [each for each in self.requirements if each.id not in gone]
        self._added = [each for each in self._added if each.id not in gone]
        return len(self.requirements) < was

    async def verify(self, claim: Claim) -> Verdict | None:
        """Check all requirements; None if there are none."""
        if self.reads_late and not self._is_read and (self._added or self._changes.list_changed_files()):
            from packages.search.requirements.extraction import extract_late_requirements

            self._is_read = True
            found = list(self._added)
            known = {(each.kind, each.check) for each in found}
            fresh = [
                each
                for each in extract_late_requirements(claim.prompt)
                if (each.kind, each.check) not in known
            ]
            self.requirements = [*found, *number_requirements(_drop_empty_groups(fresh), found)]
        self._added = []
        if self.reads_late and claim.is_done:
            self._tell_departures(claim.prompt)
        if self.reads_late and self.get_verification().outcome == "failed":
            return None
        if self.reads_late and claim.is_done and all(each.kind != "behavior" for each in self.requirements):
            await self._tell_behavior(claim.prompt)
        if not self.requirements:
            return None
        results: dict[str, Result] = {}
        outputs: dict[str, str] = {}
        for each in list(self.requirements):
            results[each.id], outputs[each.id] = await self._check(each, claim.prompt)
        returns = claim.is_done and self._can_return(results)
        if self.advice is not None and not returns:
            results |= await self._ask_opinions(self.advice, claim.prompt, results)
        if self.reads_late:
            self._leave_out_usual(results)
            if not self.requirements:
                return None
        self.results = combine_groups(self.requirements, results)
        self.record(RequirementsEvent(stage="checked", items=list_results(self.requirements, self.results)))
        return self._build_verdict(outputs, returns=returns)

    def _tell_departures(self, prompt: str) -> None:
        """Log what the change lacks of the prompt, and has beside it; each once in a turn."""
        if not self._changes.list_changed_files():
            return
        from packages.search.requirements.change.departures import find_departures

        found = find_departures(prompt, self._changes)
        self._tell([*found.lacking, *found.beside], "static")

    async def _tell_behavior(self, prompt: str) -> None:
        """Log which answers of changed functions changed beside the request, as runs show it."""
        if runs := await self._compare_functions():
            from packages.search.requirements.executed.behavior_check import list_behavior_notices

            self._tell(list(list_behavior_notices(prompt, runs, self._changes)), "executed")

    async def _compare_functions(self) -> list[FunctionRuns]:
        """Return the runs of the changed Python functions, before and after; once for each state of the changes."""
        if not self.may_run() or not any(each.endswith(".py") for each in self._changes.list_changed_files()):
            return []
        diff = self._changes.format_diff()
        if self._compared[0] != diff:
            from packages.search.requirements.executed.behavior_runs import compare_functions

            self._compared = diff, await compare_functions(self._changes, self.workspace)
        return self._compared[1]

    def _tell(self, rows: Sequence[str], evidence: Evidence) -> None:
        """Log sentences for a person that decide nothing, each once in a turn."""
        fresh = [each for each in rows if each not in self._told]
        self._told.update(fresh)
        if fresh:
            detail = "\n".join(fresh)
            self.record(VerdictEvent(name=SCOPE, outcome="unknown", evidence=evidence, detail=detail))

    def _leave_out_usual(self, results: Mapping[str, Result]) -> None:
        """Drop that a repair changes code, which is said only where it does not."""
        self.requirements = [
            each
            for each in self.requirements
            if each.kind != "code-changed" or results.get(each.id, Result()).is_failure
        ]

    def _can_return(self, results: Mapping[str, Result]) -> bool:
        """Return whether the turn goes back to the model: not if it has changed nothing since it did."""
        diff = self._changes.format_diff()
        if not any(each.is_failure for each in results.values()) or diff == self._returned_diff:
            return False
        self._returned_diff = diff
        self._returned += 1
        return self._returned <= MOST_RETURNED

    async def _check(self, each: Requirement, prompt: str) -> tuple[Result, str]:
        if each.kind in ("command", "output", "result") and each.source not in self.trusted:
            return Result(detail=UNTRUSTED), ""
        if each.kind in EXECUTED_KINDS:
            from packages.search.requirements.executed_checks import check_by_running

            return await check_by_running(each, self.workspace, self.run_action, self.get_verification())
        if each.kind == "behavior":
            from packages.search.requirements.executed.behavior_check import judge_limit

            return judge_limit(each.check, prompt, await self._compare_functions()), ""
        if each.kind in ("group", "judged"):
            return Result(detail="" if each.kind == "group" else "no code can check it"), ""
        from packages.search.requirements.static_checks import check_statically
        from packages.search.requirements.symbol_checks import check_symbols

        result = await check_statically(each, self._changes, self.workspace)
        result = result or await check_symbols(each, self._changes, self.workspace) or Result()
        if each.kind == "tested" and result.state == "met":
            result = await self._check_added_tests(each, result)
        return result, ""

    async def _check_added_tests(self, each: Requirement, static: Result) -> Result:
        """Return the result of running the tests that were added, which were found without a run."""
        from packages.search.requirements.executed.added_tests import check_added_tests

        runner = str(self.get_verification().report.get("runner", ""))
        found = await check_added_tests(each, static, self._changes, self.workspace, runner)
        self._tell([found.notice] if found.notice else [], "executed")
        return found.result

    async def _ask_opinions(
        self, advice: Advice, prompt: str, results: Mapping[str, Result]
    ) -> dict[str, Result]:
        """Return the opinions on what code did not check; an opinion never takes the place of evidence."""
        open_ones = [
            each for each in self.requirements if each.kind != "group" and results[each.id].evidence is None
        ]
        if not open_ones:
            return {}
        diff = self._changes.format_diff()
        opinions = await advice.review(open_ones, prompt, diff, self._trace.format_text())
        return {each.id: opinions[each.id] for each in open_ones if each.id in opinions}

    def _build_verdict(self, outputs: Mapping[str, str], *, returns: bool) -> Verdict:
        checked = [
            (each, self.results[each.id])
            for each in self.requirements
            if each.kind != "group" and self.results[each.id].evidence in ("executed", "static")
        ]
        failed = [(each, result) for each, result in checked if result.is_failure]
        evidence: Evidence = (
            "executed" if any(result.evidence == "executed" for _, result in failed or checked) else "static"
        )
        if not failed:
            outcome: VerdictOutcome = "pass" if checked else "unknown"
            total = sum(each.kind != "group" for each in self.requirements)
            detail = f"{len(checked)} of {total} requirements are met by evidence"
            return Verdict(outcome=outcome, evidence=evidence, name=self.name, detail=detail)
        rows = [f"{each.id}: {each.text}: {result.detail or 'not met'}" for each, result in failed]
        detail = "\n".join([f"{len(failed)} of the task's requirements are not met:", *rows])
        quoted = "\n".join(outputs[each.id] for each, _ in failed if outputs[each.id])
        advice = f"Before this is done: {detail}\n{quoted}".rstrip() + "\nGo on, or finish and say why not."
        return Verdict(
            outcome="fail",
            evidence=evidence,
            name=self.name,
            detail=detail,
            advice=advice if returns else "",
        )


def _drop_empty_groups(requirements: Sequence[Requirement]) -> list[Requirement]:
    parents = {each.parent for each in requirements}
    return [each for each in requirements if each.kind != "group" or each.id in parents]
