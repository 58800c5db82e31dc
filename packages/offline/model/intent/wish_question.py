"""Question before a turn of the offline engine whose prompt may be a wish to repair or a question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from agent.monitor.answers import GO_ON, GoOn, StopTurn, TellModel, TurnEnd
from sandbox.lazy_dataclass import dataclass

Meaning = Literal["repair", "answer", "nothing"]

AskMeaning = Callable[[], Awaitable[Meaning]]
"""Asks the person what the prompt means."""


@dataclass(slots=True, kw_only=True)
class WishQuestion:
    """Asks the person about a prompt that is neither plainly a wish nor a question. Implements `Preparation`.

    model_name: the name of the session's present model
    """

    model_name: Callable[[], str]
    ask_meaning: AskMeaning

    async def prepare_turn(self, prompt: str) -> GoOn | TellModel | StopTurn:
        """Ask if the words leave it open, and tell the model the answer."""
        if self.model_name() != "offline":
            return GO_ON
        from agent.prompt.prompt_reader import read_intent
        from agent.prompt.proposal_answers import accepts_proposal
        from packages.offline.model.intent.chosen_wish import ANSWER_CHOSEN, REPAIR_CHOSEN

        if accepts_proposal(prompt) or read_intent(prompt).kind != "unclear":
            return GO_ON
        match await self.ask_meaning():
            case "repair":
                return TellModel(text=REPAIR_CHOSEN)
            case "answer":
                return TellModel(text=ANSWER_CHOSEN)
        return StopTurn(
            TurnEnd(reason="interrupted", detail="stopped before the work: nothing was asked for")
        )
