"""The person in front of a session, as models see them: somebody who may answer questions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol, runtime_checkable

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """A question with the answers that a model thinks of; the person may always give another.

    options: each a short label, or "label: what it means"
    several: more than one of them may be chosen
    """

    question: str
    options: list[str] = field(default_factory=list)
    several: bool = False

    def read_answer(self, typed: str) -> str:
        """Return what was typed, numbers of options replaced by their labels."""
        text = typed.strip()
        parts = re.split(r"[,;\s]+", text) if self.several else [text]
        numbers = [int(each) for each in parts if each.isdecimal()]
        if (
            not self.options
            or len(numbers) != len(parts)
            or not all(0 < n <= len(self.options) for n in numbers)
        ):
            return text
        return ", ".join(split_option(self.options[number - 1])[0] for number in dict.fromkeys(numbers))


def split_option(option: str) -> tuple[str, str]:
    """Return (label, meaning) of an option; the meaning is "" if it has none."""
    label, _, meaning = option.partition(": ")
    return label.strip(), meaning.strip()


class Person(Protocol):
    """Answers questions of models."""

    async def answer(self, question: UserQuestion) -> str:
        """Return the person's answer; "" if they gave none."""
        ...


@runtime_checkable
class SeriesPerson(Person, Protocol):
    """A person who is told how many questions come one after the other."""

    def announce_questions(self, count: int) -> None:
        """Note that so many questions follow."""
        ...


@runtime_checkable
class FormPerson(Person, Protocol):
    """A person to whom a whole form can be shown."""

    async def fill_form(self, message: str, schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the content of a form with this text and JSON schema; None if the person declined."""
        ...


NOBODY = "nobody is here to answer. Decide yourself, choose what can be undone, and name the choice in your answer."
"""What a model is told in place of an answer where no person is present."""
