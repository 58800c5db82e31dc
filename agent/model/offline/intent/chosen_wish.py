"""Wish of a prompt as the person decided it, where its words left it open, or as the session allows it."""

from __future__ import annotations

from collections.abc import Sequence

from agent.model.offline.intent.prompt_wish import Wish, classify_prompt
from agent.verify.prompt_intent import asks_to_change_nothing

REPAIR_CHOSEN = "[The person was asked what the prompt means, and answered: repair what fails.]"
ANSWER_CHOSEN = "[The person was asked what the prompt means, and answered: only answer, change nothing.]"
"""Notes of the harness to the model, which follow the prompt."""


def decide_wish(prompt: str, notes: Sequence[str]) -> Wish:
    """Return what a prompt asks for. notes: texts of the harness beside it, such as a person's choice or plan mode"""
    if ANSWER_CHOSEN in notes:
        return "question"
    if REPAIR_CHOSEN in notes:
        return "repair"
    wish = classify_prompt(prompt)
    forbidden = any(asks_to_change_nothing(note) for note in notes)
    return "question" if forbidden and wish in ("repair", "unclear") else wish
