"""An approval question at the bottom of the screen: its keys, and the text line of two of its answers."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import Literal

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples

from cli.output.style.terminal import Terminal, wrap_characters, wrap_words
from cli.tui.frontend import Answer, Question

BESIDE = 10
"""Rows reserved for the prompt, the footer, the keys and the queued texts."""

KEYS: dict[str, str] = {
    "y": "once",
    "s": "for this session",
    "r": "by a rule, which you can edit first",
    "n": "no",
    "t": "no, and tell it why",
}
"""Answer of each key, as displayed."""

HELD = "keys answer it when you pause typing"
"""Shown instead of the keys while typed text is not meant for the question."""

State = Literal["keys", "rule", "word"]


@dataclass(slots=True)
class QuestionPrompt:
    """An open question. `state`: waiting for a key, or for a line typed in the prompt; `came`: time at which it was
    asked, by the monotonic clock."""

    question: Question
    answer: asyncio.Future[Answer]
    came: float
    state: State = "keys"
    _kept: Document = field(default_factory=Document)

    def press_key(self, key: str, buffer: Buffer) -> bool:
        """Handle a key; return False if it has no meaning (a line begun before the question must not answer it)."""
        match key:
            case "y":
                self._set_answer(Answer(kind="once"))
            case "s":
                self._set_answer(Answer(kind="session"))
            case "n":
                self._set_answer(Answer(kind="no"))
            case "r" if self.question.rules:
                self._begin_line("rule", buffer, "; ".join(self.question.rules))
            case "t":
                self._begin_line("word", buffer, "")
            case _:
                return False
        return True

    def accept_line(self, buffer: Buffer) -> None:
        """Answer with the typed line (Enter)."""
        text, state = buffer.text.strip(), self.state
        self.leave_line(buffer)
        if state == "word":
            self._set_answer(Answer(kind="no", word=text))
        elif text:
            self._set_answer(Answer(kind="rule", rules=tuple(each.strip() for each in text.split(";"))))

    def leave_line(self, buffer: Buffer) -> None:
        """Return from the text line to the keys, and restore the prompt's earlier text."""
        if self.state != "keys":
            self.state = "keys"
            buffer.set_document(self._kept, bypass_readonly=True)

    def format_lines(self, terminal: Terminal, *, held: bool) -> StyleAndTextTuples:
        """Return the whole question, or as much as fits and how to see the rest.

        held: no key answers yet, because the user is typing something else
        """
        text = wrap_characters(self.question.what, terminal.columns - 1)
        why = wrap_words(f"why: {self.question.why}", terminal.columns - 1).split("\n")
        keys = self.format_keys(terminal.columns)
        room = max(terminal.rows - BESIDE - len(why) - keys.count("\n"), 3)
        more = ""
        if len(text) > room:
            more = f"… {len(text) - room + 1} more lines, press v to view them all\n"
            text = text[: room - 1]
        asked: StyleAndTextTuples = [
            ("class:question", "\n" + "\n".join(text)),
            ("class:dim", "\n" + "\n".join(why)),
            ("", f"\n{more}"),
        ]
        return [*asked, ("class:dim", HELD)] if held else [*asked, *self._paint_keys(keys)]

    def format_keys(self, columns: int) -> str:
        """Return the keys on offer, or the purpose of the line being typed."""
        if self.state == "rule":
            return wrap_words("rule to store (Enter stores it and goes on, Esc goes back):", columns - 1)
        if self.state == "word":
            return wrap_words(
                "what shall the model be told? (Enter sends it with the no, Esc goes back)", columns - 1
            )
        offered = [(key, what) for key, what in KEYS.items() if key != "r" or self.question.rules]
        rows, row = list[str](), ""
        together = sum(len(f"{key} {what}") + 3 for key, what in offered) - 3 < columns
        for key, what in offered:
            part = f"{key} {what}"
            if row and (len(row) + 3 + len(part) >= columns or (key == "n" and not together)):
                rows.append(row)
                row = ""
            row = f"{row}   {part}" if row else part
        return "\n".join([*rows, row])

    def _paint_keys(self, keys: str) -> StyleAndTextTuples:
        """Highlight the keys against their descriptions."""
        if self.state != "keys":
            return [("", keys)]
        found: StyleAndTextTuples = []
        for number, each in enumerate(re.split(r"(?:^|(?<=\n)|(?<= {3}))([a-z])(?= )", keys)):
            found.append(("class:key" if number % 2 else "", each))
        return found

    def _begin_line(self, state: State, buffer: Buffer, text: str) -> None:
        self._kept, self.state = buffer.document, state
        buffer.set_document(Document(text), bypass_readonly=True)

    def _set_answer(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)
