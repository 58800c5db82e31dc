"""One turn as a strategy sees it: attempts by child sessions, a choice among them, and its end.

Each step is logged when it is done and found in the log when the turn is resumed: a strategy is plain code that is
run again from its beginning, and whose attempts return at once where they had ended.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from agent.budget.purse import Amount
from agent.children.child import Child
from agent.children.children import Children
from agent.children.gather import gather_all
from agent.children.spec import ChildResult, ChildSpec
from agent.events import BY_STRATEGY, AttemptEvent, ChoiceEvent, MessageEvent, UsageRecord
from agent.exit_codes import BY_FAULT, Exit
from agent.model_selection import ModelSelection
from agent.monitor.answers import TurnEnd
from agent.session_settings import LimitSettings
from agent.strategy.attempt_log import AttemptLog, LastEnd, find_base_report, read_last_end
from agent.strategy.candidate import STOPPED, SURPLUS, Candidate, build_objection, create_verdict_event
from agent.strategy.ranking import Ranking
from agent.team.attach import find_session_team
from agent.turn.runtime import Runtime
from agent.verify.verdict import Verdict
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Mode
from tools.core.action import Observation

Result = TypeVar("Result")

Check = Callable[[ChildResult], Awaitable[Verdict]]
"""Gives one more verdict on an attempt, such as a judge's opinion."""

Equip = Callable[[Child], None]
"""Prepares a child before its turn, such as by tools that only it has."""


ATTEMPT = "attempt"
"""Role of a child whose strategy names none."""


class StrategyTurn:
    """The turn that a strategy fills.

    name: of the strategy; children: starts the sessions
    is_first: this process has not run the strategy in this turn, so attempts in the log are of before a kill
    slots: held by an attempt while it runs, so that no more run at once than there are processors, or the cluster takes
    local_slots: held by one that runs on this machine though there is a cluster, as those with `Equip` do
    remote_slots: attempts that a cluster takes at once; 0: they are made on this machine
    is_remote: a cluster makes the attempts that nothing equips
    surplus: why attempts that are cancelled now are not needed any more, "" where the turn itself is cancelled
    """

    def __init__(
        self,
        name: str,
        runtime: Runtime,
        children: Children,
        *,
        is_first: bool = True,
        remote_slots: int = 0,
    ) -> None:
        self.children = children
        self.local_slots = asyncio.Semaphore(_count_processors())
        self.slots = asyncio.Semaphore(remote_slots) if remote_slots else self.local_slots
        self.is_remote = remote_slots > 0
        self.surplus = ""
        self._committing = asyncio.Lock()
        self._name = name
        self._runtime = runtime
        if (agents := find_session_team(runtime)) is not None:
            agents.follow()  # attempts are shown and reached like agents
        self._log = AttemptLog.from_history(runtime.session.replayed)
        self.directions = self._log.directions
        runtime.session.subscribe(self.directions.handle_event)
        if is_first:  # later the purse has paid for all that is in the log
            sessions = runtime.session.folder.parent
            runtime.purse.add_usage(self._log.sum_usage(sessions))
            for folder in self._log.list_lost_folders(sessions):
                children.worktrees.remove_data(folder)

    def close(self) -> None:
        """Follow the person's directions no more."""
        self._runtime.session.unsubscribe(self.directions.handle_event)

    @property
    def prompt(self) -> str:
        """The task, as the user gave it."""
        return self._log.prompt

    @property
    def runtime(self) -> Runtime:
        """The session that has the turn."""
        return self._runtime

    def build_limits(self) -> LimitSettings:
        """Return the limits of one attempt: on steps and time those of the session; its purse pays for all."""
        own = self._runtime.settings.limits
        return LimitSettings(max_steps=own.max_steps, max_time=own.max_time)

    def divide_budget(self, parts: int) -> Amount | None:
        """Return one of `parts` shares of what is left of the budget, for the spec of an attempt about to start."""
        return self._runtime.purse.divide_rest(parts)

    def check_prices(self, models: Iterable[str]) -> None:
        """Raise UserError, before anything is asked, if a limit on cost cannot hold for one of some models."""
        environment = self._runtime.environment
        if environment is None:
            return
        selection = ModelSelection(
            settings=self._runtime.settings, env=environment.request.env, cache=environment.home.lasting_cache
        )
        for name in models:
            selection.check_price(name)

    async def commit_files(self) -> str:
        """Return the commit that all attempts begin with: the user's present files, with uncommitted changes.

        Raises UserError if nothing could be brought back: in read-only mode, or without a commit.
        """
        if self._runtime.policy.mode is Mode.READ_ONLY:
            raise UserError(
                Fault.USAGE,
                f"strategy {self._name!r} cannot apply a patch in read-only mode",
                "Leave one of them out.",
            )
        async with self._committing:  # all attempts begin with the same commit
            self._log.base = self._log.base or await self.children.worktrees.commit_files()
        return self._log.base

    @property
    def has_applied(self) -> bool:
        """Whether a patch was brought back before the turn was resumed."""
        return bool(self._log.applied)

    def is_done(self, number: int) -> bool:
        """Whether this attempt had ended before the turn was resumed."""
        return number in self._log.candidates or number in self._log.ended

    async def attempt(
        self,
        number: int,
        spec: ChildSpec,
        *,
        hint: str = "",
        after: int = 0,
        below: Sequence[int] = (),
        checks: Sequence[Check] = (),
        equip: Equip | None = None,
    ) -> Candidate:
        """Let a child session make an attempt, or return its candidate of before a kill.

        Where nothing is left of the budget, the candidate `is_refused`, and the log knows nothing of it.

        number: names it in the log; a strategy gives the same to the same attempt whenever it is run
        hint: for the log; after: the attempt that it goes on from, for the log, too
        below: the attempts with which a person stops it, too
        checks: give more verdicts on the child's result; equip: prepares the child
        """
        if (known := self._log.candidates.get(number)) is not None:
            return known
        if spec.place == "worktree" and not spec.base:
            spec = replace(spec, base=await self.commit_files())
        if self.is_remote and spec.place == "worktree" and equip is None:
            spec = replace(spec, runs="remote")  # what equips a child changes it in this process
        sessions = self._runtime.session.folder.parent
        logged: Sequence[Verdict] = ()
        if (ended := self._log.ended.get(number)) is not None:
            last = await asyncio.to_thread(read_last_end, sessions / ended.child)
            logged = self._log.verdicts.get(
                number, ()
            )  # those given here, too, while it worked and at its end
            result = ChildResult(
                child=ended.child,
                outcome=ended.outcome,
                exit_code=ended.exit_code,
                report=ended.report,
                verification=last.verification,
                patch=self._read_patch(ended.patch),
                artifact=ended.patch,
                files=tuple(last.files),
                usage=vars(ended.usage),
                seconds=ended.seconds,
            )
        else:
            if reason := self.children.find_stop_reason(spec):
                return Candidate.create_refused(number, reason)  # not logged: a larger budget may pay for it
            spec = self.directions.extend_spec(number, spec, below)
            try:
                child = await self.children.start(replace(spec, role=spec.role or ATTEMPT))
            except UserError as error:  # the model's name is wrong, say
                return self._record_failure(number, error)
            async with child:
                self._record_start(number, child.id, spec, hint, after)
                if equip is not None:
                    equip(child)
                try:
                    ran = await self.directions.run_child(number, child, below)
                except asyncio.CancelledError:
                    if self.surplus:
                        self._record_cancelled(number, child, f"{SURPLUS}: {self.surplus}")
                    raise
                if ran is None:
                    return self._record_cancelled(number, child, STOPPED)
                result = ran
            # From its log, which a child in another process has, too.
            last = await asyncio.to_thread(read_last_end, sessions / child.id)
        verdicts = [*last.verdicts, *(each for each in logged if each not in last.verdicts)]
        for each in checks:
            verdicts.append(await each(result))
        last = replace(last, verdicts=verdicts)
        return await self._record_candidate(number, spec.base, result, last, logged)

    async def gather(self, attempts: Sequence[Awaitable[Result]]) -> list[Result]:
        """Wait for all; if one fails or the turn is interrupted, the others end first."""
        return await gather_all(attempts)

    def read_patch(self, candidate: Candidate) -> bytes:
        """Return a candidate's changes, for the spec of an attempt that goes on from them; b"" if there are none."""
        return self._read_patch(candidate.patch)

    def find_choice(self, candidates: Sequence[Candidate]) -> Candidate | None:
        """Return the one that was chosen among these before a kill, or whose patch was applied then."""
        numbers = {each.attempt for each in candidates}
        for known in reversed(self._log.choices):
            chosen = [each for each in candidates if each.attempt == known.attempt]
            if chosen and chosen[0].patch in self._log.applied:
                return chosen[0]
        for known in self._log.choices:
            if set(known.order) == numbers:
                return next(each for each in candidates if each.attempt == known.attempt)
        return None

    def choose(self, ranking: Ranking) -> Candidate:
        """Log and return the best candidate, or the one that was chosen among these before a kill."""
        if (known := self.find_choice(ranking.candidates)) is not None:
            return known
        best = ranking.best
        self._runtime.session.append(
            ChoiceEvent(
                attempt=best.attempt,
                child=best.child,
                order=[each.attempt for each in ranking.candidates],
                reason=ranking.reason,
                confidence=ranking.confidence,
                abstained=ranking.abstained,
            )
        )
        return best

    async def apply(self, candidate: Candidate) -> Observation | None:
        """Bring a candidate's patch into the workspace, as an action that can be undone; None if it is there."""
        if candidate.patch in self._log.applied:
            return None
        from tools.git.apply_attempt import bring_back

        self._runtime.toolbox.add(accepted=[bring_back])
        return await self._runtime.run_harness_action("bring_back", {"patch": candidate.patch})

    async def finish(self, text: str, status: str) -> TurnEnd:
        """End the turn with a text for the user. status: as of the tool `finish`"""
        await self._runtime.run_harness_action("finish", {"summary": "", "status": status})
        self._runtime.session.append(MessageEvent(text=text, model=f"{BY_STRATEGY}{self._name}"))
        return TurnEnd(reason="ended", text=text)

    def _record_start(self, number: int, child: str, spec: ChildSpec, hint: str, after: int) -> None:
        self._runtime.session.append(
            AttemptEvent(
                number=number,
                child=child,
                strategy=self._name,
                base=spec.base,
                model=spec.model,
                temperature=spec.temperature,
                hint=hint,
                after=after,
                directions=self.directions.count_known(number),
            )
        )

    def _record_failure(self, number: int, error: UserError) -> Candidate:
        code = BY_FAULT.get(error.fault, Exit.INTERNAL)
        candidate = Candidate(attempt=number, outcome=code.label, exit_code=int(code), report=error.message)
        self._runtime.session.append(candidate.to_event())
        return candidate

    def _record_cancelled(self, number: int, child: Child, report: str) -> Candidate:
        """Log an attempt that was cancelled, and is not made again by a resumed turn: why, and what it had used."""
        usage = replace(child.runtime.purse.tally.usage) if child.spec.runs == "in-process" else UsageRecord()
        candidate = Candidate(
            attempt=number,
            child=child.id,
            outcome=Exit.INTERRUPTED.label,
            exit_code=int(Exit.INTERRUPTED),
            report=report,
            usage=usage,
        )
        self._runtime.session.append(candidate.to_event())
        return candidate

    async def _record_candidate(
        self,
        number: int,
        base: str,
        result: ChildResult,
        last: LastEnd,
        logged: Collection[Verdict],
    ) -> Candidate:
        """Log a candidate with its verdicts. last: its end; logged: verdicts that the log has already"""
        from agent.strategy.patch_inspection import inspect_patch
        from agent.strategy.progress import MOST_TESTS, list_failing_tests

        git = await self.children.worktrees.open_git()
        facts = await asyncio.to_thread(inspect_patch, git, base, result.patch, self.prompt)
        root = self._runtime.workspace.root.relative_to(git.root)
        verdicts = [*last.verdicts, *self._find_lost_tests(last.report, changes_tests=facts.changes_tests)]
        candidate = Candidate(
            attempt=number,
            child=result.child,
            outcome=result.outcome,
            exit_code=result.exit_code,
            report=result.report,
            verification=result.verification,
            patch=result.artifact,
            # Those of the patch: a child that began with changes, and made none, has them all the same.
            files=tuple(os.path.relpath(path, root) for path in facts.files),
            lines=facts.lines,
            weakened_tests=facts.weakened_tests,
            changes_tests=facts.changes_tests,
            failing_tests=tuple(sorted(list_failing_tests(last.report))[:MOST_TESTS]),
            usage=UsageRecord(**result.usage),
            seconds=result.seconds,
            verdicts=tuple(verdicts),
        )
        for each in verdicts:
            if each not in logged:
                self._runtime.session.append(create_verdict_event(each, number))
        self._runtime.session.append(candidate.to_event())
        return candidate

    def _find_lost_tests(self, report: Mapping[str, Any], *, changes_tests: bool) -> list[Verdict]:
        """Return the objection to an attempt whose tests all pass, and are fewer than ran here before; [] without one.

        A session that did not run the tests before its change cannot know all of them.
        """
        from agent.prompt.prompt_reader import read_intent
        from tools.testing.run_comparison import describe_loss

        before = find_base_report(self._runtime.session.replayed)
        if before is None or report.get("outcome") != "passed":
            return []
        lost = describe_loss(before, report)
        is_wanted = changes_tests and read_intent(self.prompt).wants_changed_tests
        return [build_objection(lost)] if lost and not is_wanted else []

    def _read_patch(self, ref: str) -> bytes:
        path = self._runtime.workspace.artifacts.find_file(ref) if ref else None
        return path.read_bytes() if path is not None and path.is_file() else b""


def _count_processors() -> int:
    """Return how many this process may use, where the system says so (Linux)."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
