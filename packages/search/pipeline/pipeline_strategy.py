"""`pipeline`: places without a model, patches without tools, a choice by what runs (Agentless, Xia et al. 2024).

The first patch is asked for alone. If tests that failed pass with it, that was all. Else one more reply holds the other
patches: its question has only the places that the failure is about, and how the first patch failed. Where no test
fails, nothing would tell that the first is enough: one reply holds all but the last, which is asked for if they fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import field, replace
from functools import partial

from agent.children.spec import ChildSpec
from agent.monitor.answers import TurnEnd
from agent.session_settings import StrategySettings
from agent.strategy.best_candidate import apply_best
from agent.strategy.candidate import Candidate
from agent.strategy.race import FindStop, race_attempts
from agent.strategy.refinement import Refinement
from agent.strategy.strategy_turn import StrategyTurn
from packages.search.pipeline.questions import build_prompt, build_retry_prompt, read_system_prompt
from packages.search.pipeline.several_patches import ASK, read_patches
from packages.search.pipeline.text_edits import MOST_REPLIES, TOOLS, let_answer_in_text, let_apply_text
from sandbox.lazy_dataclass import dataclass

SAMPLED = 0.8
"""Temperature of all patches but the first one: the likeliest patch twice is one patch."""


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

        at_first = 1 if before.get("failures") or self._differ else max(1, most - 1)
        made = await self._ask_patches(turn, base, range(1, at_first + 1), (self._prompt, ""), find_stop)
        if self._differ and not await find_stop(made):
            between = {each: partial(self._ask, turn, each, base, self._prompt) for each in range(2, most)}
            made += await race_attempts(turn, between, find_stop)
            at_first = max(at_first, most - 1)
        is_open = most > at_first and made and not await find_stop(made)
        again = await build_retry_prompt(refinement, made, at_first + 1) if is_open else None
        if again is not None:
            made += await self._ask_patches(turn, base, range(at_first + 1, most + 1), again, find_stop)
        return await apply_best(turn, made, refinement)

    @property
    def _differ(self) -> bool:
        """Whether the user gave attempts models or temperatures of their own, so that each has a question."""
        given = self.settings
        return given.attempts > 1 and (len(set(given.models)) > 1 or len(set(given.temperatures)) > 1)

    async def _ask_patches(
        self,
        turn: StrategyTurn,
        base: str,
        numbers: Sequence[int],
        question: tuple[str, str],
        find_stop: FindStop,
    ) -> list[Candidate]:
        """Ask once for as many patches as there are numbers, and try each in an attempt until one is enough.

        question: the prompt, and its hint for the log
        """
        first, (prompt, hint) = numbers[0], question
        more = f"\n\n{ASK.format(number=len(numbers))}" if len(numbers) > 1 else ""
        asked = await self._ask(turn, first, base, prompt + more, hint, 1 if more else MOST_REPLIES)
        if asked.is_refused:
            return []
        if not more or await find_stop([asked]):
            return [asked]
        session = turn.runtime.session.folder.parent / asked.child
        others = (await asyncio.to_thread(read_patches, session))[1:]
        attempts = {
            number: partial(self._try_patch, turn, number, base, text, f"another patch of attempt {first}")
            for number, text in zip(numbers[1:], others, strict=False)
        }
        return [asked, *await race_attempts(turn, attempts, find_stop)]

    async def _ask(
        self,
        turn: StrategyTurn,
        number: int,
        base: str,
        prompt: str,
        hint: str = "",
        replies: int = MOST_REPLIES,
    ) -> Candidate:
        """Ask for a patch, and let the suite run with it in a worktree. replies: at most, until one applies"""
        models, temperatures = self.settings.models, self.settings.temperatures
        spec = replace(
            self._build_spec(turn, base, prompt),
            model=models[(number - 1) % len(models)] if models else "",
            temperature=temperatures[(number - 1) % len(temperatures)] if temperatures else _pick(number),
        )
        async with turn.local_slots:
            spec = replace(spec, share=turn.divide_budget(max(1, self.settings.attempts - number + 1)))
            equip = partial(let_answer_in_text, most=replies)
            return await turn.attempt(number, spec, hint=hint, equip=equip)

    async def _try_patch(self, turn: StrategyTurn, number: int, base: str, text: str, hint: str) -> Candidate:
        """Apply a patch of an earlier reply in a worktree, where the suite runs. No model is asked."""
        spec = replace(self._build_spec(turn, base, turn.prompt), asks_model=False)
        async with turn.local_slots:
            return await turn.attempt(number, spec, hint=hint, equip=partial(let_apply_text, text=text))

    def _build_spec(self, turn: StrategyTurn, base: str, prompt: str) -> ChildSpec:
        return ChildSpec(
            prompt=prompt,
            system=read_system_prompt(),
            tools=TOOLS,
            limits=turn.build_limits(),
            place="worktree",
            base=base,
        )


def _pick(number: int) -> float | None:
    return None if number == 1 else SAMPLED
