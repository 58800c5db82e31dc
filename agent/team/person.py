"""The person in front of a session, as agents see them: somebody who may answer a question."""

from __future__ import annotations

from typing import Protocol


class Person(Protocol):
    """Answers questions of models."""

    async def answer(self, question: str) -> str:
        """Return the person's answer; "" if they gave none."""
        ...


NOBODY = "nobody is here to answer. Decide yourself, choose what can be undone, and name the choice in your answer."
"""What a model is told in place of an answer where no person is present."""
