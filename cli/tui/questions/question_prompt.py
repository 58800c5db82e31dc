"""An open question at the bottom of the screen: its keys, and the text line of some of its answers."""

from __future__ import annotations

import asyncio
from dataclasses import field

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from cli.output.style.terminal import Terminal
from cli.tui.frontend import Answer, Option, Question
from cli.tui.questions.question_frame import Frame
from sandbox.lazy_dataclass import dataclass


@dataclass(slots=True)
class QuestionPrompt:
    """An open question. `typing`: the answer whose text is being typed in the prompt, None while keys answer; `came`:
    time at which it was asked, by the monotonic clock."""

    question: Question
    answer: asyncio.Future[Answer]
    came: float
    typing: Option | None = None
    current: int = 0
    _moved: bool = False
    _kept: Document = field(default_factory=Document)

    def move(self, rows: int) -> None:
        """Mark the next or an earlier answer."""
        self.current = (self.current + rows) % len(self.question.options)
        self._moved = True

    def press_key(self, key: str, buffer: Buffer) -> None:
        """Handle a letter or a digit; others have no meaning (a line begun before the question must not answer it)."""
        for number, option in enumerate(self.question.options, 1):
            if key in (option.key, str(number)):
                self._choose(option, buffer)
                return

    def take_current(self, buffer: Buffer) -> None:
        """Answer with the marked option (Enter).

        Not while the prompt holds text and no answer was marked: then Enter was meant for the text.
        """
        if self._moved or not buffer.text:
            self._choose(self.question.options[self.current], buffer)

    def refuse(self) -> None:
        """Answer as Esc does."""
        self._set_answer(Answer(name=self.question.otherwise))

    def accept_line(self, buffer: Buffer) -> None:
        """Answer with the typed line (Enter); an emptied one that was not empty at first gives no answer."""
        text, option = buffer.text.strip(), self.typing
        self.leave_line(buffer)
        if option is not None and (text or not option.text):
            self._set_answer(Answer(name=option.name, text=text))

    def leave_line(self, buffer: Buffer) -> None:
        """Return from the text line to the keys, and restore the prompt's earlier text."""
        if self.typing is not None:
            self.typing = None
            buffer.set_document(self._kept, bypass_readonly=True)

    def make_frame(self, terminal: Terminal, *, rows: int, held: bool) -> Frame:
        """Return the question as it is drawn. held: no key answers yet: the user is typing something else"""
        return Frame(
            question=self.question,
            terminal=terminal,
            rows=rows,
            current=self.current,
            purpose=self.typing.line if self.typing else "",
            is_held=held,
        )

    def _choose(self, option: Option, buffer: Buffer) -> None:
        if option.line:
            self._kept, self.typing = buffer.document, option
            buffer.set_document(Document(option.text), bypass_readonly=True)
        else:
            self._set_answer(Answer(name=option.name))

    def _set_answer(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)
