"""The parts of a view: one message each, with the events that it stands for, and what it costs on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.model.protocol import AssistantMessage, Message, UserMessage


@dataclass(slots=True, eq=False)
class Slot:
    """One message and where it comes from: the places of the first and last event that it stands for.

    size: bytes sent for it; ref: artifact with the whole
    short: a compaction put something shorter in its place
    whole: text of the event, where less of it entered the request
    by: places of the compactions that made it what it is, the oldest first
    """

    message: Message
    first: int
    last: int
    size: int
    short: bool = False
    ref: str = ""
    whole: str = ""
    by: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """What it stands for, whole if nothing shorter has taken its place for good."""
        return self.whole or self.message.text

    @property
    def is_from_person(self) -> bool:
        """Whether a person said it, so that it stays; a fold's text is nobody's, a note is the program's."""
        return isinstance(self.message, UserMessage) and not isinstance(
            self.message, FoldMessage | NoteMessage
        )


class FoldMessage(UserMessage):
    """The short form of a run of steps. It is sent as a user's message is, for want of another voice."""


class NoteMessage(UserMessage):
    """What the program told the model meanwhile (files changed, tests fail). It is folded as steps are."""


class StateMessage(UserMessage):
    """The state ledger. It stands at the end of one request and is no part of the history."""

    passing = True


def find_steps(slots: Sequence[Slot]) -> list[range]:
    """Where each step stands: a message with its whole batch, or a fold. What people said is in none."""
    found: list[range] = []
    at = 0
    while at < len(slots):
        message = slots[at].message
        length = 1 + (len(message.actions) if isinstance(message, AssistantMessage) else 0)
        if not slots[at].is_from_person:
            found.append(range(at, at + length))
        at += length
    return found


def count_bytes(text: str) -> int:
    """Bytes on the wire. Lone surrogates (from odd file names, from a model's JSON) are sent as `?`."""
    return len(text.encode("utf-8", "replace"))


def count_message_bytes(message: AssistantMessage) -> int:
    arguments = sum(len(action.raw) or count_bytes(repr(action.arguments)) for action in message.actions)
    kept = sum(count_bytes(repr(part)) for part in message.kept)
    return count_bytes(message.text) + count_bytes(message.reasoning) + arguments + kept
