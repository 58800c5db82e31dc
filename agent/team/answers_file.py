"""Answers prepared in a file (`--answers FILE`), for a run that nobody watches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from agent.team.person import UserQuestion
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

OTHERS = "*"
"""Key of the answer to every question that no other key fits."""

LARGEST = 1 << 20
"""Bytes of a file of answers."""


@dataclass(slots=True, kw_only=True)
class PreparedAnswers:
    """Answers questions of models from a file. Implements `Person`.

    in_order: answers that are taken one after the other
    by_words: answers by words of the question; the longest that the question contains, capitals aside, counts
    """

    in_order: Sequence[str] = ()
    by_words: Mapping[str, str] = field(default_factory=dict)
    _taken: int = 0

    @classmethod
    def from_file(cls, path: Path) -> PreparedAnswers:
        """Read JSON, a list of answers or an object of words and answers; or text, a line for each answer.

        Raises UserError for a file that cannot be read, or holds something else.
        """
        try:
            with path.open("rb") as file:
                text = file.read(LARGEST + 1).decode("utf-8")
        except OSError as error:
            raise UserError(Fault.USAGE, f"cannot read the answers {str(path)!r}: {error.strerror}") from None
        except ValueError:
            raise UserError(Fault.USAGE, f"the answers {str(path)!r} are not UTF-8 text") from None
        if len(text) > LARGEST:
            raise UserError(Fault.USAGE, f"the answers {str(path)!r} are longer than {LARGEST:,} bytes")
        if path.suffix.lower() != ".json":
            return cls(in_order=[line.strip() for line in text.splitlines() if line.strip()])
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UserError(Fault.USAGE, f"{str(path)!r} is not JSON: {error}") from None
        if isinstance(found, list) and all(isinstance(each, str) for each in found):
            return cls(in_order=found)
        if isinstance(found, dict) and all(isinstance(each, str) for each in found.values()):
            return cls(by_words=found)
        raise UserError(
            Fault.USAGE,
            f"{str(path)!r} holds no answers",
            'Give a list ["first answer", "second"], or an object {"words of a question": "answer", "*": "any other"}.',
        )

    async def answer(self, question: UserQuestion) -> str:
        """See `Person.answer`: the prepared answer, "" if there is none."""
        return question.read_answer(self._find_answer(question.question))

    def _find_answer(self, question: str) -> str:
        if self._taken < len(self.in_order):
            self._taken += 1
            return self.in_order[self._taken - 1]
        asked = question.casefold()
        fitting = [words for words in self.by_words if words != OTHERS and words.casefold() in asked]
        return self.by_words[max(fitting, key=len)] if fitting else self.by_words.get(OTHERS, "")
