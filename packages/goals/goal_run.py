"""Work on a goal: turn after turn until its check passes, a limit is reached, or nothing moves any more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from typing import Any

from agent.budget.limits import Limit, MaxCost, MaxTime, find_stop_reason
from agent.events import ChildEvent, End, Event, GoalEvent, MessageEvent, RequirementsEvent, SideCall
from agent.exit_codes import Exit
from agent.goal_state import GoalState, find_active_goal
from agent.session.usage_report import UsageReport
from agent.turn.runtime import Runtime
from packages.goals.check_sources import CheckSources
from packages.goals.goal_check import ChangedFiles, CheckResult, CommandCheck, RequirementsCheck
from sandbox.lazy_dataclass import dataclass

IDLE_TURNS = 3
"""Turns without any progress after which the work stops: a model gets two more attempts with the same output."""

TakeTurn = Callable[[str | None, Sequence[str]], Awaitable[End]]
"""Runs one turn: its prompt (None: the turn that was interrupted) and notes of the harness for the model."""

_GOES_ON = frozenset((
    Exit.DONE, Exit.TESTS_FAIL, Exit.NOTHING_TO_DO, Exit.LIMIT, Exit.DENIED, Exit.NO_TEST_RUNNER, Exit.NOT_ACHIEVED
))  # fmt: skip
"""Ends of a turn after which another turn may help; after the others the goal is paused."""

_CLEAN = frozenset((Exit.DONE, Exit.NOTHING_TO_DO, Exit.NO_TEST_RUNNER))
"""Ends of a turn with which a passing check reaches the goal: the check is evidence where a project has no tests."""


@dataclass(slots=True, kw_only=True)
class GoalRun:
    """Work on the goal of a session. The state is the log's: a run that is killed is resumed by another one.

    take_turn: runs a turn, as the caller shows it
    """

    runtime: Runtime
    state: GoalState
    take_turn: TakeTurn
    _check: CommandCheck | RequirementsCheck = field(init=False)
    _usage: UsageReport = field(default_factory=UsageReport)
    _began: float = field(default_factory=time.monotonic)
    _seconds: float = 0.0
    _steps: int = 0
    _files: set[str] = field(default_factory=set)
    _commit: str = ""

    def __post_init__(self) -> None:
        session, start = self.runtime.session, self.state.start
        files = ChangedFiles(self.runtime.workspace)
        if start.check:
            self._check = CommandCheck(
                command=start.check,
                workspace=self.runtime.workspace,
                run_action=self.runtime.run_harness_action,
                files=files,
                sources=CheckSources(self.runtime.workspace, start.check, start.text),
                is_wanted=lambda: find_active_goal(session) is not None,
            )
        else:
            self._check = self._create_requirements_check(files)
        for event in session.replayed.select_events(MessageEvent, SideCall, ChildEvent, End, after=start.id):
            self._count_event(event)
        newest = session.replayed.get_event(f"e{session.replayed.count}")
        cut_off = max((newest or self.state.last).time - self.state.last.time, 0.0)
        self._seconds = self.state.last.seconds + (0.0 if self.state.is_paused else cut_off)
        session.subscribe(self._count_event)

    async def run(self) -> End | None:
        """Work until the goal is reached or the work ends; return the last end event, None if there was no turn."""
        verifiers, limits = self.runtime.conclusion.verifiers, self.runtime.purse.limits
        if isinstance(self._check, CommandCheck):
            verifiers.append(self._check)
        try:
            return await self._take_turns(limits)
        except asyncio.CancelledError:  # between two turns; within one it is an end like others
            self._record_pause("interrupted")
            raise
        finally:
            self.runtime.purse.limits = limits
            if isinstance(self._check, CommandCheck):
                verifiers.remove(self._check)
            else:
                self._check.verifier.spans_turns = False

    async def _take_turns(self, limits: Sequence[Limit]) -> End | None:
        unchecked, is_cut_off = self._find_unfinished_turn()
        result: CheckResult | None = None
        last: End | None = None
        if not self.state.checks and not unchecked and not is_cut_off and self._check.runs_before:
            result = await self._check.run()
            if result.refused:
                return self._end_refused(result, None)
            self._record_check(result, turn=0)
        while True:
            own = self._build_limits()
            if unchecked is not None:
                last, unchecked = unchecked, None
            elif reason := self._find_limit():
                return self._end_work("stopped", Exit.LIMIT, reason, last)
            else:
                self.runtime.purse.limits = [*limits, *own]
                notes = [] if is_cut_off else [self._describe_turn(result, last)]
                last = await self.take_turn(None if is_cut_off else self.state.start.text, notes)
                is_cut_off = False
            if find_active_goal(self.runtime.session) is None:  # the person ended it meanwhile
                return last
            if Exit(last.exit_code) not in _GOES_ON:
                self._record_pause(f"{last.outcome}: {_read_first_line(last.summary)}"[:200])
                return last
            result = await self._check_files()
            self._record_check(result, turn=self.state.turn + 1)
            if (end := self._find_end(result, last, own)) is not None:
                return end

    def _find_unfinished_turn(self) -> tuple[End | None, bool]:
        """Return the end of a turn that a kill left unchecked, and whether it cut one off."""
        history = self.runtime.session.replayed
        prompt, end = history.find_newest_place("prompt"), history.find_newest_place("end")
        if prompt < history.find_newest_place("goal"):
            return None, False
        event = history.get_event(f"e{end}") if end > prompt else None
        return (event, False) if isinstance(event, End) else (None, True)

    def _find_end(self, result: CheckResult, last: End, own: Sequence[Limit]) -> End | None:
        """Return the end of the work after a turn, None if another turn follows."""
        if result.refused:
            return self._end_refused(result, last)
        if result.outcome == "pass" and Exit(last.exit_code) in _CLEAN:
            named = self._check.files.list_named(self.state.start.check)
            told = [f"the check names files that were changed: {', '.join(named)}"] if named else []
            if isinstance(self._check, CommandCheck) and self._check.narrowing:
                told.append(self._check.narrowing)
            return self._end_work("reached", Exit.DONE, "; ".join(told), last)
        if reached := find_stop_reason(own, self.runtime.purse.tally):
            return self._end_work("stopped", Exit.LIMIT, self._find_limit() or reached, last)
        most = 1 if self.runtime.model.name == "offline" else IDLE_TURNS  # it would do the same again
        if self.state.count_idle_turns() < most:
            return None
        turns = f"{most} turn{'' if most == 1 else 's'}"
        reason = f"no progress: {turns} changed neither the files nor the check's result ({result.detail})"
        return self._end_work("stopped", Exit.NOT_ACHIEVED, reason, last)

    def _end_refused(self, result: CheckResult, last: End | None) -> End:
        return self._end_work("stopped", Exit.DENIED, f"the check cannot be run: {result.refused}", last)

    async def _check_files(self) -> CheckResult:
        """Return the result of the check for the files as they are now: a commit hook may have changed them."""
        known = self._check.last
        if known is not None and known.tree == self._check.files.compute_hash():
            return known
        return await self._check.run()

    def _create_requirements_check(self, files: ChangedFiles) -> RequirementsCheck:
        from agent.verify.optional_checks import attach_requirements, find_requirements

        verifier = find_requirements(self.runtime)
        verifier = verifier or attach_requirements(self.runtime, None, is_trusted=False)
        if not verifier.requirements:  # those of the turns before a restart
            known = self.runtime.session.replayed.select_events(RequirementsEvent, after=self.state.start.id)
            for event in known:
                verifier.track_event(event)
        verifier.spans_turns = True
        return RequirementsCheck(verifier=verifier, files=files)

    def _count_event(self, event: Event) -> None:
        self._usage.handle_event(event)
        if isinstance(event, End):
            self._steps += event.steps
            self._files.update(event.files)
            self._commit = event.commit or self._commit

    @property
    def _worked(self) -> float:
        """Seconds of work on the goal, those before a restart included."""
        return self._seconds + time.monotonic() - self._began

    def _build_limits(self) -> list[Limit]:
        """Return limits for the next turn: the goal's remaining dollars and seconds."""
        start, found = self.state.start, list[Limit]()
        if start.max_cost is not None:
            found.append(MaxCost(max(start.max_cost - (self._usage.total.usage.cost or 0.0), 0.0)))
        if start.max_time is not None:
            found.append(MaxTime(max(start.max_time - self._worked, 0.0)))
        return found

    def _find_limit(self) -> str:
        """Return which limit of the goal allows no further turn, "" if none does."""
        start, spent = self.state.start, self._usage.total.usage.cost or 0.0
        if self.state.turn >= start.max_turns:
            return f"{self.state.turn} of {start.max_turns} turns taken (--max-turns)"
        if start.max_cost is not None and spent and spent >= start.max_cost:
            return f"${spent:.4f} spent of ${start.max_cost:g} for the goal (--max-cost)"
        if start.max_time is not None and self._worked >= start.max_time:
            return f"{self._worked:.0f} s passed of {start.max_time:g} s for the goal (--max-time)"
        return ""

    def _describe_turn(self, result: CheckResult | None, last: End | None) -> str:
        """Return the note to the model: the check, its result, and that only the user can change it."""
        start, turn = self.state.start, self.state.turn + 1
        named = f"`{start.check}`" if start.check else "the requirements of the task"
        lines = [
            f"Turn {turn} of {start.max_turns} of the goal.",
            f"After each turn the harness checks {named}; "
            "the goal is reached when that passes, and only the user can change or end it.",
        ]
        if result is not None and result.outcome == "pass" and last is not None:
            lines.append(
                f"The check passes now, but the last turn ended as {last.outcome}: {last.summary}"[:1_000]
            )
        elif result is not None:
            passes = " (it passes already; do what the user asks for)" if result.outcome == "pass" else ""
            lines.append(f"Its result now: {result.detail}{passes}")
            lines += [result.output] if result.output else []
        elif self.state.detail:  # of the process before
            lines.append(f"Its last result: {self.state.detail}")
        return "\n".join(lines)

    def _record_check(self, result: CheckResult, *, turn: int) -> None:
        event = self._create_event(
            stage="checked",
            turn=turn,
            outcome=result.outcome,
            detail=result.detail,
            before=self.state.detail,
            tree=result.tree,
        )
        self.runtime.session.append(event)
        self.state.checks.append(event)
        self.state.last = event

    def _record_pause(self, reason: str) -> None:
        self.runtime.session.append(self._create_event(stage="paused", turn=self.state.turn, reason=reason))

    def _end_work(self, stage: Any, outcome: Exit, reason: str, last: End | None) -> End:
        """Log that the work is over, and the end event of all its turns together."""
        session = self.runtime.session
        told = last.summary if last is not None else ""
        session.append(
            self._create_event(stage=stage, turn=self.state.turn, detail=self.state.detail, reason=reason)
        )
        if outcome is Exit.DONE and last is not None and last.outcome == Exit.NOTHING_TO_DO.label:
            outcome = Exit.NOTHING_TO_DO
        summary = told if outcome in _CLEAN else reason if outcome is Exit.LIMIT else f"{reason}\n\n{told}"
        end = End(
            outcome=outcome.label,
            exit_code=int(outcome),
            summary=summary.strip(),
            steps=self._steps,
            usage=self._usage.total.usage,
            files=sorted(self._files),
            commit=self._commit,
            verification=last.verification if last is not None else "",
        )
        session.append(end)
        return end

    def _create_event(self, **fields: Any) -> GoalEvent:
        start = self.state.start
        session = self.runtime.session.id
        return GoalEvent(
            session=session,
            check=start.check,
            max_turns=start.max_turns,
            seconds=round(self._worked, 1),
            **fields,
        )


def _read_first_line(text: str) -> str:
    return text.partition("\n")[0]
