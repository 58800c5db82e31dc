"""Judge: which of two candidates is better, by a read-only child session; each pair is judged in both orders."""

from __future__ import annotations

import asyncio

from agent.children.children import Children
from agent.turn.runtime import Runtime
from packages.search.review.agreement import Result, count_opinion
from packages.search.review.answers import Preference
from packages.search.review.child_opinion import ask_role
from packages.search.select.tournament import ONE_WORD, OpinionLevel
from sandbox.lazy_dataclass import dataclass


@dataclass(slots=True, kw_only=True)
class PairJudge:
    """The judge of one selection. `ask` answers the questions of `OpinionLevel`; model: that answered last

    verdicts: what executed checks say of the candidates
    """

    runtime: Runtime
    children: Children
    verdicts: str = ""
    model: str = ""

    async def ask(self, question: str) -> str:
        """Return "A", "B" or "SAME"; "" without an answer."""
        found = f"\n\nExecuted checks say of both: {self.verdicts}" if self.verdicts else ""
        opinion = await ask_role(
            self.runtime,
            self.children,
            "judge",
            Preference,
            [question.removesuffix(ONE_WORD).rstrip() + found],
        )
        self.model = opinion.model or self.model
        return opinion.answers[-1].preferred.upper() if opinion.answers else ""

    async def compare_with_truth(self, task: str, right: str, wrong: str) -> None:
        """Judge a pair that executed checks tell apart, without their results, and count whether it agrees."""
        blind = PairJudge(runtime=self.runtime, children=self.children)
        rating = await OpinionLevel(texts=[right, wrong], ask=blind.ask, task=task).rate([0, 1])
        if rating is None or self.runtime.environment is None:
            return
        result: Result = "undecided"
        if rating.values[0] != rating.values[1]:
            result = "agree" if rating.values[0] > rating.values[1] else "disagree"
        await asyncio.to_thread(count_opinion, self.runtime.environment.home, blind.model, "judge", result)
