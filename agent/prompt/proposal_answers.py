"""Whether a prompt accepts what was proposed before it."""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily

_ACCEPTS = compile_lazily(
    r"\s*(?:please\s+)?(?:(?:yes|y|ok|okay|go ahead|do it|please"
    r"|(?:apply|write)(?: it| that| this| the(?: proposed)? changes?)?)\b[\s,]*)+[.!]*\s*",
    re.IGNORECASE,
)


def accepts_proposal(prompt: str) -> bool:
    """Return whether a prompt accepts a proposed change, if there is one: "yes", "apply it"."""
    return _ACCEPTS.fullmatch(prompt) is not None
