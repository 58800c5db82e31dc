"""Question about a prompt that the offline engine cannot place: a repair, an answer, or nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

from agent.monitor.answers import GO_ON, GoOn, StopTurn, TellModel, TurnEnd
from cli.tui.frontend import Option, Question
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation

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
        from agent.prompt.proposal_answers import accepts_proposal
        from packages.offline.model.intent.chosen_wish import ANSWER_CHOSEN, REPAIR_CHOSEN, decide_wish

        if accepts_proposal(prompt) or decide_wish(prompt, ()) != "unclear":
            return GO_ON
        match await self.ask_meaning():
            case "repair":
                return TellModel(text=REPAIR_CHOSEN)
            case "answer":
                return TellModel(text=ANSWER_CHOSEN)
        return StopTurn(
            TurnEnd(reason="interrupted", detail="stopped before the work: nothing was asked for")
        )


def ask_about_meaning(chat: Conversation) -> None:
    """Let the offline engine ask the person at this terminal, instead of declining the prompt."""

    async def ask_meaning() -> Meaning:
        if chat.planning.on:
            return "answer"  # nothing else is allowed
        chat.front.alert("a question waits for you")
        options = (
            Option(name="repair", key="r", label="Repair", about="run the tests and mend what fails"),
            Option(name="answer", key="a", label="Answer", about="only look, change nothing"),
            Option(name="nothing", key="n", label="Nothing", about="say it in other words"),
        )
        title = "A repair, or an answer?"
        answer = await chat.front.ask(Question(title=title, options=options, otherwise="nothing"))
        meanings: dict[str, Meaning] = {"repair": "repair", "answer": "answer"}
        return meanings.get(answer.name, "nothing")

    question = WishQuestion(model_name=lambda: chat.runtime.model.name, ask_meaning=ask_meaning)
    chat.runtime.conclusion.preparations.append(question)
