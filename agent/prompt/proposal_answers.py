"""Whether a prompt accepts what was proposed before it, and which of several changes."""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily

_ACCEPTS = compile_lazily(
    r"\s*(?:please\s+)?(?:(?:yes|y|ok|okay|go ahead|do it|please"
    r"|(?:apply|write)(?: it| that| this|(?: the)?(?: proposed)? changes?)?"
    r"(?P<numbers>\s+\d{1,2}(?:(?:\s*,\s*|\s*,?\s+and\s+)\d{1,2})*)?)\b[\s,]*)+[.!]*\s*",
    re.IGNORECASE,
)

_LONGEST = 300
"""Characters of an answer, blanks once: a longer text is a task of its own."""


def accepts_proposal(prompt: str) -> bool:
    """Return whether a prompt accepts a proposed change, if there is one: "yes", "apply it", "apply change 2"."""
    return _match_acceptance(prompt) is not None


def read_accepted_numbers(prompt: str) -> tuple[int, ...]:
    """Return the numbers of the changes that an accepting prompt names, in its order; () for no number: all."""
    found = _match_acceptance(prompt)
    return tuple(map(int, re.findall(r"\d+", found["numbers"]))) if found and found["numbers"] else ()


def _match_acceptance(prompt: str) -> re.Match[str] | None:
    words = " ".join(prompt.split())
    return _ACCEPTS.fullmatch(words) if len(words) <= _LONGEST else None
