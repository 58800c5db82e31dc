"""What holds of every list of messages that a model is sent, whatever befell the log. Each invariant is an object.

After the view properties of OpenHands' SDK: a rule that has a name can be tested, and told when it is broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent.model.base import AssistantMessage, Message, ToolMessage


class Invariant(Protocol):
    """`broken` says where a list of messages breaks the rule, in words; nothing if it holds."""

    def broken(self, messages: Sequence[Message]) -> list[str]: ...


class EveryActionIsAnswered:
    """The observations of a batch follow its message directly, one for each action, in the order of the actions."""

    def broken(self, messages: Sequence[Message]) -> list[str]:
        found = []
        for at, message in enumerate(messages):
            if isinstance(message, AssistantMessage):
                asked = [action.id for action in message.actions]
                answers = [
                    m.call for m in messages[at + 1 : at + 1 + len(asked)] if isinstance(m, ToolMessage)
                ]
                if asked != answers:
                    found.append(f"message {at} asks for {asked}, answered are {answers}")
        return found


class EveryObservationWasAskedFor:
    """An observation stands in the batch of the message that asked for it, and nowhere else."""

    def broken(self, messages: Sequence[Message]) -> list[str]:
        found = []
        left: list[str] = []
        for at, message in enumerate(messages):
            if isinstance(message, ToolMessage):
                if message.call not in left:
                    found.append(f"message {at} answers {message.call!r}, which nobody waits for")
                    continue
                left.remove(message.call)
            else:
                left = [a.id for a in message.actions] if isinstance(message, AssistantMessage) else []
        return found


class IdsAreDistinct:
    """No two actions of a message share an id, nor does one lack it: their observations could not be told apart."""

    def broken(self, messages: Sequence[Message]) -> list[str]:
        found = []
        for at, message in enumerate(messages):
            if isinstance(message, AssistantMessage):
                ids = [action.id for action in message.actions]
                if len(set(ids)) != len(ids):
                    found.append(f"message {at} has the ids {ids}")
        return found


class NothingIsEmpty:
    """A message of a model says or asks for something: providers refuse one that does neither."""

    def broken(self, messages: Sequence[Message]) -> list[str]:
        return [
            f"message {at} is empty"
            for at, message in enumerate(messages)
            if isinstance(message, AssistantMessage) and not message.text and not message.actions
        ]


INVARIANTS: tuple[Invariant, ...] = (
    EveryActionIsAnswered(),
    EveryObservationWasAskedFor(),
    IdsAreDistinct(),
    NothingIsEmpty(),
)


def broken(messages: Sequence[Message]) -> list[str]:
    """Every breach of every invariant."""
    return [f"{type(rule).__name__}: {breach}" for rule in INVARIANTS for breach in rule.broken(messages)]
