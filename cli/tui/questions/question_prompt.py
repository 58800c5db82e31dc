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
    time at which it was asked, by the monotonic clock; `marked`: names of answers, where several can be given."""

    question: Question
    answer: asyncio.Future[Answer]
    came: float
    typing: Option | None = None
    current: int = 0
    marked: set[str] = field(default_factory=set)
    _moved: bool = False
    _has_typed: bool = False  # keys that have no meaning here
    _kept: Document = field(default_factory=Document)

    def move(self, rows: int) -> None:
        """Mark the next or an earlier answer."""
        self.current = (self.current + rows) % len(self.question.options)
        self._moved = True

    def press_key(self, key: str, buffer: Buffer) -> None:
        """Handle a letter, a digit, or Space, which marks one of several answers; others have no meaning (a line begun
        before the question must not answer it)."""
        if key == " " and self.current < self.question.several:
            self._toggle_mark(self.question.options[self.current])
            return
        for number, option in enumerate(self.question.options, 1):
            if key in (option.key, str(number)):
                if number <= self.question.several:
                    self.current = number - 1
                    self._toggle_mark(option)
                else:
                    self._choose(option, buffer)
                return
        self._has_typed |= key.isprintable()

    def begin_line(self, typed: str, buffer: Buffer) -> bool:
        """Begin the line of the free answer with a typed character; return False if it has another meaning."""
        free = next((each for each in self.question.options if each.name == self.question.free), None)
        keys = {each.key for each in self.question.options} | (
            _AMONG_NUMBERS if self.question.several else set()
        )
        if free is None or typed in keys or not typed.isprintable():
            return False
        self._choose(free, buffer)
        buffer.insert_text(typed)
        return True

    def take_current(self, buffer: Buffer) -> None:
        """Answer with the current option, or with those that were marked (Enter).

        Not while the prompt holds text, or after keys without a meaning, if nothing was moved or marked: then Enter was
        meant for a text.
        """
        if self._moved or not (buffer.text or self._has_typed):
            self._choose(self.question.options[self.current], buffer)

    def _toggle_mark(self, option: Option) -> None:
        self.marked ^= {option.name}
        self._moved = True

    def refuse(self) -> None:
        """Answer as Esc does."""
        self._set_answer(Answer(name=self.question.otherwise))

    def accept_line(self, buffer: Buffer) -> None:
        """Answer with the typed line (Enter); an emptied one that was not empty at first gives no answer."""
        text, option = buffer.text.strip(), self.typing
        self.leave_line(buffer)
        if option is not None and (text or not option.text):
            self._set_answer(Answer(name=option.name, text=text, marked=self._list_marked()))

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
            marked=self.marked,
        )

    def _choose(self, option: Option, buffer: Buffer) -> None:
        if option.line:
            self._kept, self.typing = buffer.document, option
            buffer.set_document(Document(option.text), bypass_readonly=True)
        else:
            is_one_of_several = option in self.question.options[: self.question.several]
            marked = self._list_marked() if is_one_of_several else ()
            self._set_answer(Answer(name=option.name, marked=marked))

    def _list_marked(self) -> tuple[str, ...]:
        """Return the names of the marked answers in their order."""
        return tuple(each.name for each in self.question.options if each.name in self.marked)

    def _set_answer(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


_AMONG_NUMBERS = {" ", ","}
"""Keys that stand among numbers of answers, as in `1, 2`, and begin no text."""
