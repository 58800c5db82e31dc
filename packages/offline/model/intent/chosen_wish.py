"""Wish of a prompt as the person decided it, where its words left it open, or as the session allows it."""

from __future__ import annotations

from collections.abc import Sequence

from agent.prompt.prompt_intent import Kind
from agent.prompt.prompt_reader import read_intent
from packages.offline.model.intent.question_topics import asks_for_abilities

REPAIR_CHOSEN = "[The person was asked what the prompt means, and answered: repair what fails.]"
ANSWER_CHOSEN = "[The person was asked what the prompt means, and answered: only answer, change nothing.]"
"""Notes of the harness to the model, which follow the prompt."""


def decide_wish(prompt: str, notes: Sequence[str]) -> Kind:
    """Return what a prompt asks for. notes: texts of the harness beside it, such as a person's choice or plan mode"""
    if ANSWER_CHOSEN in notes:
        return "answer"
    if REPAIR_CHOSEN in notes:
        return "repair"
    wish = read_intent(prompt).kind
    if wish == "unclear" and asks_for_abilities(prompt):
        return "answer"
    forbidden = any(read_intent(note).forbids_edits for note in notes)
    return "answer" if forbidden and wish in ("repair", "unclear") else wish
