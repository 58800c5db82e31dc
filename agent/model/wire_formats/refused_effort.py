"""Refusals of a reasoning effort: what the endpoint accepts instead is read from its words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Protocol, TypeVar

from agent.model.model_settings import EFFORTS
from sandbox.lazy_pattern import compile_lazily

_LISTED = compile_lazily(
    r"(?:(?:supported|valid|allowed|accepted|permitted|available)\s+(?:\w+\s+)?(?:values|levels|efforts|options)"
    r"|(?:should|must) be(?: one of)?|one of)\b(.*)",
    re.IGNORECASE | re.DOTALL,
)
_WORD = compile_lazily(rf"\b({'|'.join(EFFORTS)})\b")


def choose_accepted_effort(effort: str, said: str) -> str:
    """Return the effort nearest to `effort`, lower ones first, of those that a refusal lists; "" if it lists none."""
    listed = _LISTED.search(said)
    accepted = [EFFORTS.index(each) for each in _WORD.findall(listed[1])] if listed else []
    wanted = EFFORTS.index(effort) if effort in EFFORTS else len(EFFORTS)
    lower = [each for each in accepted if each < wanted]
    higher = [each for each in accepted if each > wanted]
    return EFFORTS[max(lower)] if lower else EFFORTS[min(higher)] if higher else ""


class HasEffort(Protocol):
    effort: str


Thinking = TypeVar("Thinking", bound=HasEffort)


def lower_effort(dialect: Thinking, said: str) -> Thinking | None:
    """Return the dialect with an effort that a refusal of it accepts, or none; None for any other refusal."""
    if not dialect.effort or not _EFFORT.search(said):
        return None
    return replace(dialect, effort=choose_accepted_effort(dialect.effort, said))  # type: ignore[type-var]


_EFFORT = compile_lazily(r"effort|\breasoning\b(?!\.encrypted)")
"""Words of a refusal that is about the effort."""
