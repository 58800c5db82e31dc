"""Whose words stand in a summary that a model wrote: what a tool returned and demands something is marked as that.

A model that was taken in by a text repeats its order as a decision, or as the next step. The order is known again by
its words: nobody but a tool has said them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.context.ledger.session_facts import strip_foreign_text
from agent.context.ledger.user_constraints import find_demand_cue, split_sentences
from agent.context.projection.masking import render_message
from agent.context.projection.message_slots import FoldMessage, Slot
from agent.model.protocol import AssistantMessage

MARK = "[a tool returned this, and nobody demands it:]"

LEAST = 12
"""Characters of a sentence that is known again: a shorter one may be anybody's."""

REPORTS = frozenset({"files", "tests", "tried"})
"""Sections that tell how things are, in which error messages stand to the letter, and nothing is to be done."""

_HEADING = re.compile(r"#+\s*(\w*)")
_BULLET = re.compile(r"\s*(?:[-*]\s+|\d+[.)]\s+)?")


def mark_foreign_orders(text: str, slots: Sequence[Slot]) -> str:
    """A summary of `slots`, with a mark before each line that holds an order of a text that tools brought in."""
    orders = _find_foreign_orders(slots)
    lines: list[str] = []
    section = ""
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            section = heading[1].casefold()
        plain = _normalize_text(line)
        if section not in REPORTS and any(order in plain for order in orders):
            begun = _BULLET.match(line)
            at = begun.end() if begun and not heading else 0
            line = f"{line[:at]}{MARK} {line[at:].lstrip('# ')}"
        lines.append(line)
    return "\n".join(lines)


def _find_foreign_orders(slots: Sequence[Slot]) -> set[str]:
    """Sentences that demand something, and that neither a person nor the model has said in words of their own."""
    foreign: set[str] = set()
    own: list[str] = []
    for slot in slots:
        message = slot.message
        if isinstance(message, AssistantMessage):
            own.append(render_message(message))
        elif slot.is_from_person:
            own.append(strip_foreign_text(slot.text))
            foreign.update(_find_demands(slot.text))
        elif not isinstance(message, FoldMessage):  # a record holds words of all of them
            foreign.update(_find_demands(slot.text))
    said = _normalize_text("\n".join(own))
    return {order for order in foreign if len(order) >= LEAST and order not in said}


def _find_demands(text: str) -> set[str]:
    return {_normalize_text(each) for each in split_sentences(text) if find_demand_cue(each) is not None}


def _normalize_text(text: str) -> str:
    return " ".join(text.split()).casefold()
