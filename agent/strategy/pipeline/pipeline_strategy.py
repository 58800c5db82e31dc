"""`pipeline`: places without a model, patches without tools, a choice by what runs (Agentless, Xia et al. 2024).

The first patch is asked for alone. If tests that failed pass with it, that was all. Else others are sampled, and the
last one is told how the best of them failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from agent.children.spec import ChildSpec
from agent.monitor.answers import TurnEnd
from agent.strategy.best_candidate import apply_best
from agent.strategy.candidate import Candidate
from agent.strategy.person.directions import word_guidance
from agent.strategy.pipeline.places import collect_places, describe_failures
from agent.strategy.pipeline.text_edits import TOOLS, let_answer_in_text
from agent.strategy.race import race_attempts
from agent.strategy.ranking import rank_candidates
from agent.strategy.refinement import Refinement, Step
from agent.strategy.strategy_settings import StrategySettings
from agent.strategy.strategy_turn import StrategyTurn
from sandbox.errors import Fault, UserError
from sandbox.secrets.child_environment import redact
from tools.core.untrusted_output import enclose_in_tag

SAMPLED = 0.8
"""Temperature of all patches but the first one: the likeliest patch twice is one patch."""

_PROMPT = Path(__file__).parents[2] / "prompts" / "pipeline.md"

MOST_EARLIER = 8_000
"""Characters of an earlier patch that the last question shows."""


@dataclass(slots=True)
class Pipeline:
    """Localise, ask for patches as text, run, select. Implements `Strategy`."""

    settings: StrategySettings
    takes_advice: bool = False
    _prompt: str = field(default="")

    async def run(self, turn: StrategyTurn) -> TurnEnd:
        """See `Strategy.run`."""
        turn.check_prices(self.settings.models)
        base = await turn.commit_files()
        refinement = Refinement(turn)
        before = await refinement.read_base_report()
        self._prompt = await asyncio.to_thread(build_prompt, turn, before)
        most = self.settings.attempts

        async def find_stop(made: Sequence[Candidate]) -> str:
            solved = [each for each in made if await refinement.is_solved(each)]
            return f"with attempt {solved[0].attempt} the tests pass that failed" if solved else ""

        made: list[Candidate] = []
        for numbers in (range(1, 2), range(2, max(most, 2))):
            attempts = {each: partial(self._ask, turn, each, base, self._prompt) for each in numbers}
            made += await race_attempts(turn, attempts, find_stop)
            if await find_stop(made):
                return await apply_best(turn, made, refinement.is_right)
        if most > 1 and made and (again := await self._word_retry(refinement, made)) is not None:
            prompt, hint = again
            made.append(await self._ask(turn, most, base, prompt, hint))
        return await apply_best(turn, made, refinement.is_right)

    async def _ask(
        self, turn: StrategyTurn, number: int, base: str, prompt: str, hint: str = ""
    ) -> Candidate:
        """Ask for one patch. It is applied in a worktree, and the suite runs there."""
        models, temperatures = self.settings.models, self.settings.temperatures
        spec = ChildSpec(
            prompt=prompt,
            system=read_system_prompt(),
            model=models[(number - 1) % len(models)] if models else "",
            temperature=temperatures[(number - 1) % len(temperatures)] if temperatures else _pick(number),
            tools=TOOLS,
            limits=turn.build_limits(),
            place="worktree",
            base=base,
        )
        async with turn.slots:
            spec = replace(spec, share=turn.divide_budget(max(1, self.settings.attempts - number + 1)))
            return await turn.attempt(number, spec, hint=hint, equip=let_answer_in_text)

    async def _word_retry(self, refinement: Refinement, made: Sequence[Candidate]) -> tuple[str, str] | None:
        """Return the question after the best failed patch, with its hint; None if there is nothing new to tell."""
        best = rank_candidates(made).best
        failure = await refinement.diagnose(best)
        if failure is None:
            return None
        retry = refinement.plan_retry([Step(candidate=best, failure=failure)])
        if retry is None:
            return None
        patch = refinement.turn.read_patch(best).decode("utf-8", "replace")[:MOST_EARLIER]
        earlier = enclose_in_tag("earlier-patch", redact(patch)) if patch else ""
        last = f"{retry.advice} The files are as shown above, without it: give all edits that are needed."
        words = refinement.turn.directions.list_guidance(self.settings.attempts, [best.attempt])
        guidance = word_guidance(words) if words else ""
        parts = [self._prompt, earlier, retry.facts, last, guidance]
        return "\n\n".join(filter(None, parts)), retry.hint


def read_system_prompt() -> str:
    """Return the instructions of a session that writes one patch."""
    return _PROMPT.read_text("utf-8")


def _pick(number: int) -> float | None:
    return None if number == 1 else SAMPLED


def build_prompt(turn: StrategyTurn, before: Mapping[str, Any]) -> str:
    """Return the task with its failing tests and likely places. Blocking. Raises UserError if there is no place."""
    from tools.code.code_tool import query_index

    failures = describe_failures(before)
    text = f"{turn.prompt}\n\n{failures}"
    places = query_index(turn.runtime.workspace, lambda index: collect_places(index, text))
    if not places:
        raise UserError(
            Fault.USAGE, "no code resembles the task", "Name a file, or work by another strategy: single"
        )
    parts = [
        turn.prompt,
        enclose_in_tag("failing-tests", failures) if failures else "",
        *(each.format() for each in places),
    ]
    return redact("\n\n".join(filter(None, parts)))
