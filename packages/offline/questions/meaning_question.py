"""Question about a prompt that the offline engine cannot place: a repair, an answer, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.tui.frontend import Option, Question

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation
    from packages.offline.model.intent.wish_question import Meaning


def ask_about_meaning(chat: Conversation) -> None:
    """Let the offline engine ask the person at this terminal, instead of declining the prompt."""
    from packages.offline.model.intent.wish_question import WishQuestion

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
