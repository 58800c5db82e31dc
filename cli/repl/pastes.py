"""Long pastes: the prompt shows `[pasted 120 lines]`, the model gets all of them."""

from __future__ import annotations

import re

FOLDED_LINES = 8
FOLDED_CHARACTERS = 2_000
"""A paste of more lines or characters is folded: it could not be read in a prompt of a few rows."""


class Pastes:
    """Remembers what each mark stands for, as long as the prompt that holds it."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def folded(self, text: str) -> str:
        """What goes into the prompt for a paste: the text, or a mark for it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        if lines <= FOLDED_LINES and len(text) <= FOLDED_CHARACTERS:
            return text
        size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        mark = f"[pasted {size}]"
        number = 2
        while self._texts.get(mark, text) != text:
            mark = f"[pasted {size}, {number}]"
            number += 1
        self._texts[mark] = text
        return mark

    def unfolded(self, text: str) -> str:
        """The prompt with each mark replaced by what it stands for."""
        return _MARK.sub(lambda match: self._texts.get(match[0], match[0]), text)

    def forget(self) -> None:
        """The prompt was sent or given up."""
        self._texts.clear()


_MARK = re.compile(r"\[pasted \d+ (?:lines|characters)(?:, \d+)?\]")
