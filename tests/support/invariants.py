"""Invariants of the messages in a request, whatever the log contains. Each invariant is an object.

After the view properties of OpenHands' SDK: a named rule can be tested, and its breach reported. Message
invariants are those that providers require; view invariants say where in the log the messages come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from agent.context.projection.message_slots import FoldMessage, Slot
from agent.events import Event, MessageEvent
from agent.model.protocol import AssistantMessage, Message, ToolMessage
from agent.session.log_index import update_open_calls


class Invariant(Protocol):
    """A rule on a list of messages. `find_breaches` describes each breach; empty if the rule holds."""

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
    """An observation occurs only in the batch of the message that requested it."""

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
    """Each action of a message has an id, distinct within the message, so that observations can be assigned."""

    def find_breaches(self, messages: Sequence[Message]) -> list[str]:
        found = []
        for at, message in enumerate(messages):
            if isinstance(message, AssistantMessage):
                ids = [action.id for action in message.actions]
                if len(set(ids)) != len(ids):
                    found.append(f"message {at} has the ids {ids}")
        return found


class NothingIsEmpty:
    """A model message has text or actions: providers reject an empty one."""

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
    """Return every breach of every message invariant."""
    return [
        f"{type(rule).__name__}: {breach}" for rule in INVARIANTS for breach in rule.find_breaches(messages)
    ]


class ViewInvariant(Protocol):
    """A rule on a view. `find_breaches` describes each breach. events: those of the current branch, by position"""

    def find_breaches(self, slots: Sequence[Slot], events: Mapping[int, Event]) -> list[str]: ...


class UserMessagesAreInOrder:
    """Prompts and steers appear in the order in which they were given."""

    def find_breaches(self, slots: Sequence[Slot], events: Mapping[int, Event]) -> list[str]:
        said = [slot.first for slot in slots if slot.is_from_person]
        return [f"e{b} stands after e{a}" for a, b in pairwise(said) if b <= a]


class StepsAreInOrder:
    """Model messages appear in the order in which they arrived."""

    def find_breaches(self, slots: Sequence[Slot], events: Mapping[int, Event]) -> list[str]:
        steps = [slot.first for slot in slots if isinstance(slot.message, AssistantMessage)]
        return [f"e{b} stands after e{a}" for a, b in pairwise(steps) if b <= a]


class NoStepIsBesideItsRecord:
    """A step covered by a record does not appear as well."""

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
    """A message sent verbatim has exactly the reasoning and the signed parts that its provider gave.

    So a switch of the model needs no other view: each wire format sends the parts that name it and omits the rest.
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
    """Messages come from the current branch: none from an abandoned branch, none synthetic but lost results."""

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
    """Return every breach of every view invariant."""
    return [
        f"{type(rule).__name__}: {breach}"
        for rule in VIEW_INVARIANTS
        for breach in rule.find_breaches(slots, events)
    ]


def list_unanswered_calls(events: Sequence[Event]) -> list[tuple[str, str]]:
    """Return (call, tool) of each action without an observation, in the order of the calls."""
    open_calls: dict[str, str] = {}
    for event in events:
        update_open_calls(open_calls, event)
    return list(open_calls.items())
