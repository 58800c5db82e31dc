"""Typed answers of reviewers and judges."""

from __future__ import annotations

import json
import re
from typing import Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from sandbox.lazy_pattern import compile_lazily

MOST_PROBLEMS = 8
"""Problems of a review that are kept: the first ones weigh most."""

_FENCED = compile_lazily(r"```(?:json)?[ \t]*\n(.*?)\n```", re.DOTALL)


class Problem(BaseModel):
    """One objection. line: from 1, 0 for the file as a whole"""

    what: str = Field(min_length=1, max_length=600)
    path: str = Field(default="", max_length=300)
    line: int = Field(default=0, ge=0)

    def format_line(self) -> str:
        """Return `path:line: what`, without the parts that are not given."""
        place = f"{self.path}:{self.line}" if self.path and self.line else self.path
        return f"{place}: {self.what}" if place else self.what


class Review(BaseModel):
    """Answer of a reviewer. accepts: the change does what was asked for"""

    accepts: bool
    reason: str = Field(default="", max_length=2_000)
    problems: list[Problem] = Field(default_factory=list)

    def format_text(self) -> str:
        """Return the reason and the first problems, one a line."""
        rows = [each.format_line() for each in self.problems[:MOST_PROBLEMS]]
        return "\n".join(filter(None, [self.reason, *rows]))


class Preference(BaseModel):
    """Answer of a judge on two candidates."""

    preferred: Literal["A", "B", "same"]
    reason: str = Field(default="", max_length=2_000)


Answer = TypeVar("Answer", Review, Preference)


def read_answer(kind: type[Answer], text: str) -> Answer | None:
    """Return the answer in a message: a JSON object, alone, in a fence, or at the end; None if there is none."""
    fenced: list[str] = _FENCED.findall(text)
    last = text.rfind("\n{")
    for each in (text, *reversed(fenced), text[last + 1 :] if last >= 0 else ""):
        try:
            return kind.model_validate(json.loads(each))
        except (ValueError, ValidationError, RecursionError):  # no JSON, or another object
            continue
    return None
