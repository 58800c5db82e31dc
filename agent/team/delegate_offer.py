"""When a model is offered to hand work over: the tool's description costs each request more than any other's."""

from __future__ import annotations

import re
from collections.abc import Callable

from agent.events import Event, Prompt
from sandbox.lazy_pattern import compile_lazily

LONG = 120
"""Words of a prompt from which on a task may have parts that an agent can do by itself."""

PARTS = 3
"""Items of a list in a prompt that count as separate parts."""

_ASKS = compile_lazily(
    r"\b(?:sub-?)?agents?\b|\bdelegat|\b(?:in|at) parallel\b|\bhand(?:s|ed)? (?:it |this |that )?(?:over|off)\b"
    r"|\bindependent(?:ly)? review|\bexplore\b|\bat the same time\b|\bwhole (?:repository|repo|code ?base)\b",
    re.IGNORECASE,
)
_ITEM = compile_lazily(r"^\s*(?:[-*+]|[0-9]{1,2}[.)])\s+\S", re.MULTILINE)


def may_use_agents(prompt: str) -> bool:
    """Return whether a prompt asks for agents, or is a task in which they may pay: a long one, or one of parts."""
    if _ASKS.search(prompt) or len(_ITEM.findall(prompt)) >= PARTS:
        return True
    return len(prompt.split()) >= LONG


class DelegateOffer:
    """Offers the tool at the first prompt that may use it. offer: adds the tool to the session's"""

    def __init__(self, offer: Callable[[], None]) -> None:
        self._offer: Callable[[], None] | None = offer

    def handle_event(self, event: Event) -> None:
        """Handle an event as it is logged."""
        if self._offer is not None and isinstance(event, Prompt) and may_use_agents(event.text):
            self._offer()
            self._offer = None
