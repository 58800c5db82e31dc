"""Slots of a view: one message each, with its source events and its size on the wire."""

from __future__ import annotations

from collections.abc import Sequence

from agent.model.protocol import AssistantMessage, Message, UserMessage
from sandbox.lazy_dataclass import dataclass


@dataclass(slots=True, eq=False)
class Slot:
    """One message and its source: positions of the first and last event that it represents.

    size: bytes sent for it; ref: artifact with the full text
    short: a compaction replaced it by a shorter text
    whole: full text of the event, where only part of it entered the request
    by: positions of the compactions that changed it, the oldest first
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
        """Full text that the message represents, unless a compaction replaced it."""
        return self.whole or self.message.text

    @property
    def is_from_person(self) -> bool:
        """Whether the user wrote it, so that it is retained; folds and notes of the program are not the user's."""
        return isinstance(self.message, UserMessage) and not isinstance(
            self.message, FoldMessage | NoteMessage
        )


class FoldMessage(UserMessage):
    """Record of a run of steps. Sent with the user role, since providers offer no other."""

    by_person = False


class NoteMessage(UserMessage):
    """Note of the program to the model between steps (files changed, tests fail). It is folded like a step."""

    by_person = False


class StateMessage(UserMessage):
    """The state ledger. It is appended to one request and is not part of the history."""

    passing = True
    by_person = False


def find_steps(slots: Sequence[Slot]) -> list[range]:
    """Return the index range of each step: a message with its batch, or a fold. User messages belong to none."""
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
    """Return the bytes on the wire. Lone surrogates (from odd file names, from a model's JSON) are sent as `?`."""
    return len(text.encode("utf-8", "replace"))


def count_message_bytes(message: AssistantMessage) -> int:
    arguments = sum(len(action.raw) or count_bytes(repr(action.arguments)) for action in message.actions)
    kept = sum(count_bytes(repr(part)) for part in message.kept)
    return count_bytes(message.text) + count_bytes(message.reasoning) + arguments + kept
