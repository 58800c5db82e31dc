"""What holds of every list of messages that a model is sent, whatever befell the log. Each invariant is an object.

After the view properties of OpenHands' SDK: a rule that has a name can be tested, and told when it is broken. Those of
messages are what providers demand; those of the view say where in the log its messages come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from agent.context.projection.message_slots import FoldMessage, Slot
from agent.events import Event, MessageEvent
from agent.model.protocol import AssistantMessage, Message, ToolMessage


class Invariant(Protocol):
    """`broken` says where a list of messages breaks the rule, in words; nothing if it holds."""

    def find_breaches(self, messages: Sequence[Message]) -> list[str]: ...


class EveryActionIsAnswered:
    """The observations of a batch follow its message directly, one for each action, in the order of the actions."""

    def find_breaches(self, messages: Sequence[Message]) -> list[str]:
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

    def find_breaches(self, messages: Sequence[Message]) -> list[str]:
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

    def find_breaches(self, messages: Sequence[Message]) -> list[str]:
        found = []
        for at, message in enumerate(messages):
            if isinstance(message, AssistantMessage):
                ids = [action.id for action in message.actions]
                if len(set(ids)) != len(ids):
                    found.append(f"message {at} has the ids {ids}")
        return found


class NothingIsEmpty:
    """A message of a model says or asks for something: providers refuse one that does neither."""

    def find_breaches(self, messages: Sequence[Message]) -> list[str]:
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


def check_messages(messages: Sequence[Message]) -> list[str]:
    """Every breach of every invariant."""
    return [
        f"{type(rule).__name__}: {breach}" for rule in INVARIANTS for breach in rule.find_breaches(messages)
    ]


class ViewInvariant(Protocol):
    """`broken` says where a view breaks the rule. events: those of the present branch, by their places"""

    def find_breaches(self, slots: Sequence[Slot], events: Mapping[int, Event]) -> list[str]: ...


class UserMessagesAreInOrder:
    """Prompts and steers stand in the order in which they were said."""

    def find_breaches(self, slots: Sequence[Slot], events: Mapping[int, Event]) -> list[str]:
        said = [slot.first for slot in slots if slot.is_from_person]
        return [f"e{b} stands after e{a}" for a, b in pairwise(said) if b <= a]


class StepsAreInOrder:
    """Messages of models stand in the order in which they came."""

    def find_breaches(self, slots: Sequence[Slot], events: Mapping[int, Event]) -> list[str]:
        steps = [slot.first for slot in slots if isinstance(slot.message, AssistantMessage)]
        return [f"e{b} stands after e{a}" for a, b in pairwise(steps) if b <= a]


class NoStepIsBesideItsRecord:
    """What a record stands for is not there as well."""

    def find_breaches(self, slots: Sequence[Slot], events: Mapping[int, Event]) -> list[str]:
        folds = [(slot.first, slot.last) for slot in slots if isinstance(slot.message, FoldMessage)]
        found = []
        for at, slot in enumerate(slots):
            if isinstance(slot.message, AssistantMessage):
                end = at + len(slot.message.actions)
                last = max((each.last for each in slots[at : end + 1]), default=slot.last)
                found += [
                    f"e{slot.first} stands beside its record {a} to {b}"
                    for a, b in folds
                    if a <= slot.first and last <= b
                ]
        return found


class ReasoningIsReplayedAsItCame:
    """A message that is sent whole has the reasoning and the signed parts that its provider gave, none else's.

    So a switch of the model needs no other view: each wire format sends the parts that name it and leaves out the rest.
    """

    def find_breaches(self, slots: Sequence[Slot], events: Mapping[int, Event]) -> list[str]:
        found = []
        for slot in slots:
            event = events.get(slot.first)
            if isinstance(slot.message, AssistantMessage) and isinstance(event, MessageEvent):
                as_it_came = (event.reasoning, [dict(part) for part in event.kept])
                if (slot.message.reasoning, [dict(part) for part in slot.message.kept]) != as_it_came:
                    found.append(f"e{slot.first} has other reasoning than it came with")
        return found


class EveryMessageIsInTheBranch:
    """What is sent comes from the present branch: nothing of one that was left, nothing made up but lost results."""

    def find_breaches(self, slots: Sequence[Slot], events: Mapping[int, Event]) -> list[str]:
        return [
            f"e{slot.first} is on no branch that holds"
            for slot in slots
            if not isinstance(slot.message, FoldMessage) and slot.first not in events
        ]


VIEW_INVARIANTS: tuple[ViewInvariant, ...] = (
    UserMessagesAreInOrder(),
    StepsAreInOrder(),
    NoStepIsBesideItsRecord(),
    ReasoningIsReplayedAsItCame(),
    EveryMessageIsInTheBranch(),
)


def check_view(slots: Sequence[Slot], events: Mapping[int, Event]) -> list[str]:
    """Every breach of every invariant of a view."""
    return [
        f"{type(rule).__name__}: {breach}"
        for rule in VIEW_INVARIANTS
        for breach in rule.find_breaches(slots, events)
    ]
