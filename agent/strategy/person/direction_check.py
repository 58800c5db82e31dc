"""Directions that make sense: for an attempt that there is, in a turn that has not ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.events import GuidanceEvent, StopAttemptEvent
from agent.strategy.person.attempt_tree import AttemptTree
from agent.strategy.person.directions import Direction
from sandbox.errors import Fault, UserError

LONGEST = 8_000
"""Characters of guidance: more is a task of its own."""

_NOT_GONE_ON_FROM = ("sample", "team")
"""Strategies in which nothing goes on from an attempt that has ended."""


def check_direction(tree: AttemptTree, direction: Direction) -> None:
    """Raise UserError for a direction that nothing could follow."""
    number = direction.attempt
    node = tree.get_node(number)
    if tree.has_ended:
        raise UserError(
            Fault.USAGE,
            f"the turn of attempt {number} has ended",
            f"Take it (patchwright attempts use {number}), or say it in a new prompt.",
        )
    if node.candidate is not None and tree.method in _NOT_GONE_ON_FROM:
        raise UserError(
            Fault.USAGE,
            f"attempt {number} has ended, and {tree.method!r} does not go on from it",
            "Direct one that runs: patchwright attempts",
        )
    if number in tree.stopped:
        raise UserError(Fault.USAGE, f"attempt {number} is stopped already: nothing goes on from it")
    if stopped := tree.stopped.intersection(tree.list_ancestors(number)):
        raise UserError(
            Fault.USAGE,
            f"attempt {number} goes on from attempt {min(stopped)}, which is stopped with all that follow it",
            "Direct another branch: patchwright attempts",
        )
    if isinstance(direction, GuidanceEvent) and not 0 < len(direction.text.strip()) <= LONGEST:
        raise UserError(
            Fault.USAGE,
            f"guidance has 1 to {LONGEST} characters",
            'Say it in a sentence or two: patchwright attempts guide N "look at parse()"',
        )


def read_direction(message: Mapping[str, Any]) -> Direction:
    """Return the direction of a message of another process. Raises ValueError"""
    number = message.get("attempt")
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError(f"not the number of an attempt: {number!r}")
    if message.get("kind") == "attempt-stop":
        return StopAttemptEvent(attempt=number)
    return GuidanceEvent(attempt=number, text=str(message.get("text", "")))
