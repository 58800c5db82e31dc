"""Attempts of a search: begun anew or after others, valued by what ran, and known by their numbers after a kill."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

from agent.budget.purse import Amount
from agent.children.child import Child
from agent.children.spec import ChildResult, ChildSpec
from agent.events import Event
from agent.session.log import read_events
from agent.session_settings import StrategySettings
from agent.strategy.candidate import Candidate, create_verdict_event
from agent.strategy.person.directions import word_guidance
from agent.strategy.race import log_stop
from agent.strategy.refinement import EarlierState, Refinement, Step
from agent.strategy.sampling.diversity import list_starting_places, vary_attempt
from agent.strategy.sampling.stopping import explain_stop, read_outcome
from agent.strategy.strategy_turn import Equip, StrategyTurn
from agent.verify.verdict import Verdict
from packages.search.fixed_reply import FixedReply
from packages.search.team.tree_states import build_patch, commit_changes, merge_commits
from packages.search.tree.earlier_states import REWIND, StateWatch, find_earlier_state, find_kept_patch
from packages.search.tree.lost_kernel import word_lost_kernel
from packages.search.tree.opinions import Opinion, judge_attempt, read_opinion, word_opinion
from packages.search.tree.search_record import SearchRecord
from sandbox.lazy_dataclass import dataclass
from sandbox.secrets.child_environment import redact
from tools.core.text import clip, join_names
from tools.git.git_process import Git, GitFailed

OFFLINE = "offline"
"""Model that does the same for the same files and tests, whatever it is told."""

VERIFY = "Make all tests pass."
"""Prompt of a session in which no model works: it lets the harness run the tests of files that it did not change."""

MOST_REPORT = 600
"""Characters of the report of each of two attempts whose changes are put together."""

MOST_NAMED = 4
"""Attempts that the hint of a revision names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An attempt that is about to begin.

    after: the one whose change it goes on from, 0 for none; below: all whose changes it begins with
    equip: prepares its child
    """

    spec: ChildSpec
    hint: str = ""
    after: int = 0
    below: tuple[int, ...] = ()
    equip: Equip | None = None


@dataclass(slots=True, kw_only=True)
class SearchWork(SearchRecord[Plan]):
    """The attempts of one turn, each a session. base: commit that all begin with"""

    turn: StrategyTurn
    settings: StrategySettings
    base: str
    refinement: Refinement = field(init=False)
    _kept: dict[int, str] = field(default_factory=dict)
    _places: list[str] = field(default_factory=list)
    _rewound: set[int] = field(default_factory=set)
    _below: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _starts: int = 0

    @classmethod
    async def create(cls, turn: StrategyTurn, settings: StrategySettings) -> SearchWork:
        """Return the work of a turn, ready for its first attempt."""
        is_offline = turn.runtime.model.name == OFFLINE and not settings.models
        work = cls(
            turn=turn,
            settings=settings,
            base=await turn.commit_files(),
            limit=settings.attempts,
            is_deterministic=is_offline,
        )
        await work.begin()
        return work

    async def begin(self) -> None:
        """Run the suite once, and find the places at which attempts begin."""
        self.turn.check_prices(self.settings.models)
        self.refinement = Refinement(self.turn)
        self.before = await self.refinement.read_base_report()
        if self.settings.attempts > 2 and not self.settings.hints:
            self._places = await list_starting_places(self.turn)

    def plan_start(self) -> Plan:
        """See `SearchRecord.plan_start`."""
        self._starts += 1
        given = vary_attempt(self._starts, self.settings, self._places)
        model = vary_attempt(
            self._last + 1, self.settings, ()
        ).model  # by the attempt's number, as in `sample`
        spec = self.build_spec(self.turn.prompt, model=model, temperature=given.temperature)
        return Plan(spec=replace(spec, instructions=given.hint), hint=given.hint)

    def plan_retry(self, line: Sequence[int], beside: Sequence[int] = ()) -> Plan | None:
        """See `SearchRecord.plan_retry`."""
        directions, number = self.turn.directions, self._last + 1
        if not line:
            return None
        is_guided = directions.has_new_guidance(number, line[-1])
        words = directions.list_guidance(number, line)
        directions.use_guidance(number, line[-1])  # also where nothing comes of it: they are asked for once
        below = self._trace(line[-1])
        if directions.list_stopped(number).intersection(below):
            return None
        if not is_guided and (found := self._plan_rewind(line)) is not None:
            return found
        if line[-1] not in self.steps or self._find_passing_state(line) is not None:
            return self._plan_guided(line, words) if is_guided else None
        failed = [self.steps[number] for number in line if number in self.steps]
        others = [self.steps[number] for number in beside if number in self.steps]
        keeps = self.is_promising(line[-1])
        retry = self.refinement.plan_retry(failed, others, has_progress=keeps)
        if retry is None or (self.is_deterministic and not retry.patch):
            return self._plan_guided(line, words, keeps=keeps) if is_guided else None
        given = vary_attempt(self._last + 1, self.settings, ())
        prompt = retry.prompt + word_opinion(self._read_opinion(line[-1]))
        if retry.patch:
            prompt += redact(word_lost_kernel(self._read_log(self.steps[line[-1]].candidate)))
        if words:
            prompt += f"\n\n{word_guidance(words)}"
        spec = self.build_spec(prompt, model=given.model, temperature=given.temperature)
        after = line[-1] if retry.patch else 0
        return Plan(
            spec=replace(spec, patch=retry.patch), hint=retry.hint, after=after, below=below if after else ()
        )

    def takes_guidance(self, number: int) -> bool:
        """See `SearchRecord.takes_guidance`."""
        return self.turn.directions.has_new_guidance(self._last + 1, number) and not self._is_stopped(number)

    def leave_out_stopped(self, numbers: Sequence[int]) -> list[int]:
        """See `SearchRecord.leave_out_stopped`."""
        return [number for number in numbers if not self._is_stopped(number)]

    def _is_stopped(self, number: int) -> bool:
        return bool(self.turn.directions.list_stopped(self._last + 1).intersection(self._trace(number)))

    def _trace(self, *numbers: int) -> tuple[int, ...]:
        """Return attempts with those whose changes are in theirs: whoever stops one of them stops what follows.

        An attempt that began anew has none, though it was told of others.
        """
        traced = [each for number in numbers for each in (*self._below.get(number, ()), number)]
        return tuple(dict.fromkeys(traced))

    def _plan_guided(self, line: Sequence[int], words: Sequence[str], *, keeps: bool = True) -> Plan:
        """Return an attempt after one that nothing new can be told but the person's words."""
        patch = self._read_patch(line[-1]) if keeps else b""
        state = "An earlier attempt's change is in the files." if patch else "Begin anew."
        given = vary_attempt(self._last + 1, self.settings, ())
        prompt = f"{self.turn.prompt}\n\n{state} {word_guidance(words)}"
        spec = self.build_spec(prompt, model=given.model, temperature=given.temperature)
        after, below = (line[-1], self._trace(line[-1])) if patch else (0, ())
        return Plan(spec=replace(spec, patch=patch), hint="your guidance", after=after, below=below)

    def _plan_rewind(self, line: Sequence[int]) -> Plan | None:
        """Return an attempt that only runs the tests of an earlier state in which all passed; None if there is none, or
        it was tried: it would be the same again."""
        step = self._find_passing_state(line)
        if step is None or step.earlier is None or line[-1] in self._rewound:
            return None
        self._rewound.add(line[-1])
        error = step.earlier.error or "a later step"
        hint = f"attempt {line[-1]} before {error}"
        told = f"Attempt {line[-1]} as it was before {error}."
        return self._plan_check(self.refinement.read_patch(step), hint, told, [line[-1]])

    def _find_passing_state(self, line: Sequence[int]) -> Step | None:
        """Return the last step of a line if all tests passed in an earlier state of it."""
        step = self.steps.get(line[-1])
        if step is None or step.earlier is None or step.earlier.report.get("failures"):
            return None
        return step

    def plan_revision(self, numbers: Sequence[int]) -> Plan:
        """See `SearchRecord.plan_revision`."""
        steps = [self.steps[number] for number in numbers if number in self.steps]
        plan = self.plan_start()
        prompt = self.refinement.word_revision(steps)
        told = join_names([str(number) for number in numbers], MOST_NAMED)
        return replace(plan, spec=replace(plan.spec, prompt=prompt), hint=f"revision of {told}")

    async def plan_merge(self, one: int, other: int) -> Plan | None:
        """See `SearchRecord.plan_merge`."""
        first, second = map(self._read_patch, (one, other))
        git = await self.turn.children.worktrees.open_git()
        try:
            patch = await asyncio.to_thread(_merge_patches, git, self.base, first, second)
        except GitFailed:
            return None
        told = [f"Changes of attempts {one} and {other}, put together."]
        for candidate in self.candidates:
            if candidate.attempt in (one, other) and candidate.report:
                told.append(f"Attempt {candidate.attempt}: {clip(candidate.report, MOST_REPORT)}")
        return self._plan_check(patch, _name_pair(one, other), "\n\n".join(told), [one, other])

    def plan_union(self, one: int, other: int) -> Plan:
        """See `SearchRecord.plan_union`."""
        first, second = map(self._read_patch, (one, other))
        prompt = self.refinement.word_recombination([self.steps[one], self.steps[other]], second)
        below = self._trace(one, other)
        if words := self.turn.directions.list_guidance(self._last + 1, below):
            prompt += f"\n\n{word_guidance(words)}"
        spec = replace(self.build_spec(prompt), patch=first)
        return Plan(spec=spec, hint=_name_pair(one, other), after=one, below=below)

    def _plan_check(self, patch: bytes, hint: str, told: str, origins: Sequence[int]) -> Plan:
        """Return an attempt that only runs the tests.

        told: its report; origins: the attempts whose changes are in the patch
        """
        spec = replace(self.build_spec(VERIFY), patch=patch, asks_model=False)
        return Plan(
            spec=spec,
            hint=hint,
            after=origins[0],
            below=self._trace(*origins),
            equip=partial(_answer_without_model, text=told),
        )

    def build_spec(self, prompt: str, *, model: str = "", temperature: float | None = None) -> ChildSpec:
        """Return the spec of an attempt at the whole task in a worktree."""
        return ChildSpec(
            prompt=prompt,
            model=model,
            temperature=temperature,
            limits=self.turn.build_limits(),
            place="worktree",
            base=self.base,
        )

    async def make(self, planned: Mapping[int, Plan]) -> list[Candidate]:
        """See `SearchRecord.make`."""
        self._below.update({number: plan.below for number, plan in planned.items()})
        asking = [
            number
            for number, plan in planned.items()
            if plan.spec.asks_model and not self.turn.is_done(number)
        ]
        # Together: a share is kept from the start of its attempt on, so what is left then is not left for the next one.
        share = self.turn.divide_budget(self.count_left(min(asking))) if asking else None
        return await self.turn.gather(
            [
                self._attempt(number, plan, share if number in asking else None)
                for number, plan in planned.items()
            ]
        )

    async def value(self, candidate: Candidate, line: Sequence[int]) -> float:
        """See `SearchRecord.value`."""
        known = [self.steps[number] for number in line if number in self.steps]
        failure = await self.refinement.diagnose(candidate, known)
        step: Step | None = None
        after: Mapping[str, Any] = {}
        if failure is not None:
            after = await asyncio.to_thread(self.refinement.read_report, candidate)
            step = Step(candidate=candidate, failure=failure)
            earlier = await asyncio.to_thread(self._find_earlier_state, candidate)
            if earlier is not None:
                failure = self.refinement.classify_state(candidate, earlier, known)
                step = Step(candidate=candidate, failure=failure, earlier=earlier)
        is_solved = await self.refinement.is_solved(candidate)
        value = self.record(candidate, step, after, is_solved=is_solved)
        if not self.is_over and (why := self._explain_stop()):
            self.is_over = True
            if self.asked_attempts < self.limit:
                log_stop(self.turn, self.asked_attempts, self.limit, why)
        return value

    def get_opinion(self, number: int) -> float:
        """See `SearchRecord.get_opinion`."""
        opinion = self._read_opinion(number)
        return opinion.value if opinion is not None else 0.0

    def _read_opinion(self, number: int) -> Opinion | None:
        found = [each.verdicts for each in self.candidates if each.attempt == number]
        return read_opinion(found[0]) if found else None

    def _find_earlier_state(self, candidate: Candidate) -> EarlierState | None:
        """Return the state that a candidate's last steps broke; None if its end is as good. Blocking."""
        kept = self._kept.get(candidate.attempt) or find_kept_patch(candidate.verdicts)
        if not kept or not candidate.child or candidate.objection:
            return None
        events = self._read_log(candidate)
        return find_earlier_state(events, self.before, self.refinement.leave_out_excused, kept)

    def _read_log(self, candidate: Candidate) -> list[Event]:
        """Return the events of an attempt, none if its log is gone. Blocking."""
        try:
            return list(read_events(self.turn.runtime.session.folder.parent / candidate.child))
        except OSError:  # it was deleted since
            return []

    def _watch(self, child: Child, number: int) -> None:
        """Keep the best state of an attempt while it works, in case that its later steps break it."""

        def keep(patch: bytes) -> None:
            session = self.turn.runtime.session
            ref = self._kept[number] = self.turn.runtime.workspace.artifacts.save(patch)
            told = "a later step broke what this state had mended"
            verdict = Verdict(
                outcome="unknown", evidence="executed", name=REWIND, detail=told, artifacts=(ref,)
            )
            session.append(create_verdict_event(verdict, number))

        watch = StateWatch(child, self.before, self.refinement.leave_out_excused, keep)
        child.runtime.session.subscribe(watch.handle_event)

    def _read_patch(self, number: int) -> bytes:
        step = self.steps.get(number)
        if step is not None:
            return self.refinement.read_patch(step)
        return self.turn.read_patch(next(each for each in self.candidates if each.attempt == number))

    async def _attempt(self, number: int, plan: Plan, share: Amount | None) -> Candidate:
        turn = self.turn
        is_away = turn.is_remote and plan.equip is None  # where no watch follows it
        async with turn.slots if is_away else turn.local_slots:
            spec = replace(plan.spec, share=share)

            def equip(child: Child) -> None:
                if plan.equip is not None:
                    plan.equip(child)
                self._watch(child, number)

            async def judge(result: ChildResult) -> Verdict:
                ended = Candidate(attempt=number, child=result.child)
                report = await asyncio.to_thread(self.refinement.read_report, ended)
                return await judge_attempt(turn, result, report)

            return await turn.attempt(
                number,
                spec,
                hint=plan.hint,
                after=plan.after,
                below=plan.below,
                checks=[judge] if self.settings.judge else [],
                equip=None if is_away else equip,
            )

    def _explain_stop(self) -> str:
        """Return why attempts agree so far that no test has to tell which is right; asked where none failed before.

        Those that were cancelled or never began say nothing about the next one.
        """
        if self.before.get("failures"):
            return ""
        made = [
            read_outcome(each, self.turn.read_patch(each), self.list_failing(each.attempt))
            for each in self.candidates
            if not (each.is_stopped or each.is_refused or each.is_surplus)
        ]
        return explain_stop(made)


def _merge_patches(git: Git, base: str, first: bytes, second: bytes) -> bytes:
    """Return both changes as one. Blocking. Raises GitFailed where they conflict."""
    commits = [commit_changes(git, base, patch, base) for patch in (first, second)]
    return build_patch(git, base, merge_commits(git, commits))


def _answer_without_model(child: Child, text: str) -> None:
    """Let a child end at once with a text, so that the harness judges the files that it began with."""
    child.runtime.loop.model = FixedReply(child.runtime.loop.model, text)


def _name_pair(one: int, other: int) -> str:
    return f"attempts {one} and {other} put together"
