"""Questions of models to the person at the terminal: answered by keys and text, or by the next line in plain lines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from agent.team.person import UserQuestion, split_option
from cli.output.style.paint import get_mark
from cli.tui.frontend import Frontend, Option, Question
from cli.tui.screen.working_line import WAITING
from sandbox.sanitize import sanitize_text


class TerminalPerson:
    """Asks one question after the other. Implements `Person`.

    show: prints a question: its title, its text, and how to answer it
    pause: the turn's clock is stopped inside this context
    """

    def __init__(
        self,
        front: Frontend,
        show: Callable[[str, str, str], None],
        pause: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._front = front
        self._pause = pause
        self._show = show
        self._one = asyncio.Lock()
        self._waiting: asyncio.Future[str] | None = None
        self._number, self._count = 0, 0  # of the questions that come one after the other

    def announce_questions(self, count: int) -> None:
        """See `SeriesPerson.announce_questions`."""
        self._number, self._count = 0, count

    async def answer(self, question: UserQuestion) -> str:
        """See `Person.answer`."""
        async with self._one:
            self._number += 1
            which = f" · {self._number} of {self._count}" if self._number <= self._count > 1 else ""
            if self._front.redraws:
                return await self._choose(question, which)
            self._show(f"The model asks{which}", _format_question(question), _explain_answer(question))
            self._front.alert("a question waits for your answer")
            self._front.show_activity(WAITING)
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                with self._front.waiting, self._pause():
                    answer = await self._waiting
                return question.read_answer(answer)
            finally:
                self._waiting = None

    async def _choose(self, question: UserQuestion, which: str) -> str:
        """Let the person choose by keys, or type other words."""
        self._front.alert("a question waits for your answer")
        self._front.show_activity(WAITING)
        with self._pause():
            chosen = await self._front.ask(_make_question(question, which))
        numbers = chosen.marked or ((chosen.name,) if chosen.name != OWN else ())
        answer = ", ".join(filter(None, (question.read_answer(",".join(numbers)), chosen.text)))
        sign = get_mark("you", unicode=self._front.terminal.unicode)
        shown = sanitize_text(f"{sign} {answer}" if answer else "left to the model")
        self._show(f"The model asked{which}", sanitize_text(question.question.strip()), shown)
        return answer

    @property
    def is_asking(self) -> bool:
        """Whether a question waits for its answer."""
        return self._waiting is not None

    def take_answer(self, text: str) -> bool:
        """Take typed text for the answer; False if no question waits."""
        if self._waiting is None or self._waiting.done():
            return False
        self._waiting.set_result(text)
        return True


def _make_question(question: UserQuestion, which: str) -> Question:
    """Return a question whose answers have numbers; any other character begins an answer in one's own words.

    Without answers to choose from, digits begin one as well.
    """
    options = []
    for number, option in enumerate(question.options, 1):
        label, meaning = map(sanitize_text, split_option(option))
        options.append(Option(name=str(number), key=str(number), label=label, about=meaning))
    own, leave = (str(len(options) + 1), str(len(options) + 2)) if options else ("", "")
    label, about = ("Something else", "type it") if options else ("Type the answer", "")
    return Question(
        title=f"The model asks{which}",
        what=sanitize_text(question.question.strip()),
        options=(
            *options,
            Option(name=OWN, key=own, label=label, about=about, line="your answer:"),
            Option(name="", key=leave, label="Leave it to the model"),
        ),
        otherwise="",
        free=OWN,
        several=len(question.options) if question.several else 0,
    )


OWN = "own words"


def _format_question(question: UserQuestion) -> str:
    """Return a question with its options as a numbered list."""
    rows = [sanitize_text(question.question.strip())]
    for number, option in enumerate(question.options, 1):
        label, meaning = map(sanitize_text, split_option(option))
        rows.append(f"{number}. {label}" + (f" ({meaning})" if meaning else ""))
    return "\n".join(rows)


def _explain_answer(question: UserQuestion) -> str:
    if not question.options:
        return "Your next line is the answer."
    numbers = "numbers such as 1,2" if question.several else "a number"
    return f"Your next line is the answer: {numbers}, or your own words."
