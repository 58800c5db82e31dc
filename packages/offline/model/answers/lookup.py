"""A lookup: a generator that asks for calls of tools, gets their observations, and returns the answer.

It is replayed from the steps of the turn with each request, so it must depend on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import field
from typing import Any

from packages.offline.model.intent.question_topics import Question
from packages.offline.model.turn_steps import Step
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call that a lookup needs. text: for the person, before it"""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """text: Markdown; trust: how far it can be trusted, a sentence"""

    text: str
    trust: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """Nothing was found that answers. reason: a clause; a model would do better unless `needs_model` is False"""

    reason: str
    needs_model: bool = True


Lookup = Generator[Call, Step, Answer | NoAnswer]
Answerer = Callable[[Question], Lookup]

NO_MODEL = "No model: only what can be looked up."

MOST_LISTED = 20
"""Lines of a list in an answer; the rest is counted."""


def format_answer(answer: Answer) -> str:
    """Return the whole text of an answer, with how far it can be trusted at its end."""
    return f"{answer.text.rstrip()}\n\nHow far to trust it: {answer.trust} {NO_MODEL}"


def limit_lines(lines: Sequence[str], most: int = MOST_LISTED) -> list[str]:
    """Return the first lines, and how many more there are."""
    left = len(lines) - most
    return [*lines[:most], *([f"… {left} more"] if left > 0 else [])]
