"""`tree`: attempts that go on from each other, the most promising first (SWE-Search, CodeTree).

The first attempt is made alone: easy work gets one pass. Then several are made at a time. Each begins in its own way,
or goes on from an earlier one by the remedy of its failure. What ran is the only reward.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agent.children.spec import ChildSpec
from agent.monitor.answers import TurnEnd
from agent.strategy.best_candidate import apply_best
from agent.strategy.candidate import Candidate
from agent.strategy.progress import measure_progress
from agent.strategy.refinement import Refinement, Retry, Step
from agent.strategy.sampling.diversity import list_starting_places, vary_attempt
from agent.strategy.sampling.stopping import explain_stop, read_outcome
from agent.strategy.strategy_settings import StrategySettings
from agent.strategy.strategy_turn import StrategyTurn
from agent.strategy.tree.search_tree import Node, SearchTree

AT_ONCE = 2
"""Attempts of one round. Fixed, so that a resumed turn makes the same ones wherever it runs."""


@dataclass(slots=True)
class TreeSearch:
    """A search over attempts. Implements `Strategy`."""

    settings: StrategySettings
    takes_advice: bool = False

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """See `Strategy.run`."""
        turn.check_prices(self.settings.models)
        search = Search(turn=turn, settings=self.settings, base=await turn.commit_files())
        await search.begin()
        while not search.is_over:
            if not await search.make_round():
                break
        return await apply_best(turn, search.candidates, search.refinement.is_right)


@dataclass(slots=True, kw_only=True)
class Search:
    """One search. steps: failed attempts by number; starts: how many began anew"""

    turn: StrategyTurn
    settings: StrategySettings
    base: str
    tree: SearchTree = field(default_factory=SearchTree)
    candidates: list[Candidate] = field(default_factory=list)
    steps: dict[int, Step] = field(default_factory=dict)
    is_over: bool = False
    refinement: Refinement = field(init=False)
    _before: Mapping[str, Any] = field(default_factory=dict)
    _places: list[str] = field(default_factory=list)
    _starts: int = 0
    _last: int = 0

    async def begin(self) -> None:
        """Run the suite once, and find the places at which attempts begin."""
        self.refinement = Refinement(self.turn)
        self._before = await self.refinement.read_base_report()
        if self.settings.attempts > 2 and not self.settings.hints:
            self._places = await list_starting_places(self.turn)

    async def make_round(self) -> int:
        """Make the next attempts and value them; return how many there were."""
        room = min(self.settings.attempts - self._last, AT_ONCE if self._last else 1)
        begun: list[tuple[Node, ChildSpec, str]] = []
        while len(begun) < room and (node := self.tree.select()) is not None:
            planned = self._plan(node)
            if planned is None:
                node.closed = True
                continue
            self._last += 1
            begun.append((self.tree.add(self._last, node), *planned))
        made = await self.turn.gather([self._attempt(*each) for each in begun])
        for (node, _, _), candidate in zip(begun, made, strict=True):
            await self._value(node, candidate)
        self.is_over |= self._last >= self.settings.attempts or self._is_enough()
        return len(begun)

    def _plan(self, node: Node) -> tuple[ChildSpec, str] | None:
        """Return the attempt after a node, with its hint; None if nothing new can be told."""
        if node.parent is None:
            self._starts += 1
            given = vary_attempt(self._starts, self.settings, self._places)
            spec = self._build_spec(self.turn.prompt, model=given.model, temperature=given.temperature)
            return replace(spec, instructions=given.hint), given.hint
        line = [self.steps[each.number] for each in node.line if each.number in self.steps]
        beside = [self.steps[each.number] for each in node.children if each.number in self.steps]
        retry: Retry | None = self.refinement.plan_retry(line, beside) if node.number in self.steps else None
        if retry is None:
            return None
        given = vary_attempt(self._last + 1, self.settings, ())
        spec = self._build_spec(retry.prompt, model=given.model, temperature=given.temperature)
        return replace(spec, patch=retry.patch), retry.hint

    def _build_spec(self, prompt: str, *, model: str, temperature: float | None) -> ChildSpec:
        return ChildSpec(
            prompt=prompt,
            model=model,
            temperature=temperature,
            limits=self.turn.build_limits(),
            place="worktree",
            base=self.base,
        )

    async def _attempt(self, node: Node, spec: ChildSpec, hint: str) -> Candidate:
        async with self.turn.slots:
            share = self.turn.divide_budget(max(1, self.settings.attempts - node.number + 1))
            after = node.parent.number if node.parent is not None else 0
            return await self.turn.attempt(node.number, replace(spec, share=share), hint=hint, after=after)

    async def _value(self, node: Node, candidate: Candidate) -> None:
        line = [self.steps[each.number] for each in node.line[:-1] if each.number in self.steps]
        failure = await self.refinement.diagnose(candidate, line)
        after = self.refinement.read_report(candidate) if failure is not None else {}
        if failure is not None:
            self.steps[node.number] = Step(candidate=candidate, failure=failure)
        self.candidates.append(candidate)
        self.is_over |= await self.refinement.is_solved(candidate)
        self.tree.record(node, measure_progress(candidate, failure, self._before, after))

    def _is_enough(self) -> bool:
        """Whether attempts agree so far that no test has to tell which is right; asked where none failed before."""
        if self._before.get("failures"):
            return False
        return bool(
            explain_stop([read_outcome(each, self.turn.read_patch(each)) for each in self.candidates])
        )
