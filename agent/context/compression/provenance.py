"""Provenance check of a model's summary: instructions that came from tool output are marked as such.

A model misled by injected text repeats its instruction as a decision or a next step. Such an instruction is
recognised by its words: only tool output contains them.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.context.ledger.session_facts import strip_foreign_text
from agent.context.ledger.user_constraints import find_demand_cue, split_sentences
from agent.context.projection.masking import render_message
from agent.context.projection.message_slots import FoldMessage, Slot
from agent.model.protocol import AssistantMessage
from sandbox.lazy_pattern import compile_lazily

MARK = "[a tool returned this, and nobody demands it:]"

LEAST = 12
"""Characters of a sentence that can be recognised; shorter ones are not specific to a source."""

REPORTS = frozenset({"files", "tests", "tried"})
"""Sections that report state: they quote error messages verbatim and ask for no action."""

_HEADING = compile_lazily(r"#+\s*(\w*)")
_BULLET = compile_lazily(r"\s*(?:[-*]\s+|\d+[.)]\s+)?")


def mark_foreign_orders(text: str, slots: Sequence[Slot]) -> str:
    """Return a summary of `slots` with a mark before each line that repeats an instruction from tool output."""
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
    """Return demanding sentences that neither the user nor the model wrote in their own words."""
    foreign: set[str] = set()
    own: list[str] = []
    for slot in slots:
        message = slot.message
        if isinstance(message, AssistantMessage):
            own.append(render_message(message))
        elif slot.is_from_person:
            own.append(strip_foreign_text(slot.text))
            foreign.update(_find_demands(slot.text))
        elif not isinstance(message, FoldMessage):  # a record mixes words of all sources
            foreign.update(_find_demands(slot.text))
    said = _normalize_text("\n".join(own))
    return {order for order in foreign if len(order) >= LEAST and order not in said}


def _find_demands(text: str) -> set[str]:
    return {_normalize_text(each) for each in split_sentences(text) if find_demand_cue(each) is not None}


def _normalize_text(text: str) -> str:
    return " ".join(text.split()).casefold()
