"""Question about a prompt that the offline engine cannot place: a repair, an answer, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.tui.frontend import Choice

if TYPE_CHECKING:
    from agent.model.offline.intent.wish_question import Meaning
    from cli.tui.conversation.conversation import Conversation


def ask_about_meaning(chat: Conversation) -> None:
    """Let the offline engine ask the person at this terminal, instead of declining the prompt."""
    from agent.model.offline.intent.wish_question import WishQuestion

    async def ask_meaning() -> Meaning:
        if chat.planning.on:
            return "answer"  # nothing else is allowed
        chat.front.alert("a question waits for you")
        choices = [
            Choice(label="repair", about="run the tests and mend what fails"),
            Choice(label="answer", about="only look, change nothing"),
            Choice(label="nothing", about="say it in other words"),
        ]
        picked = await chat.front.pick("Without a model I am not sure: what do you want?", choices)
        meanings: tuple[Meaning, ...] = ("repair", "answer", "nothing")
        return meanings[picked] if picked is not None else "nothing"

    question = WishQuestion(model_name=lambda: chat.runtime.model.name, ask_meaning=ask_meaning)
    chat.runtime.conclusion.preparations.append(question)
