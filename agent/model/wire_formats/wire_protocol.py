"""Common parts of the wire formats: JSON, server-sent events, and the two protocols of a format."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from agent.model.protocol import (
    Message,
    ReasoningDelta,
    Reply,
    Request,
    TextDelta,
    ToolSpec,
    Usage,
    UserMessage,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Json = dict[str, Any]

DONE = "[DONE]"
"""Data of the event behind the last one of a stream."""

Stop = Literal["end", "actions", "length", "refusal", "other"]


class Assembler(ABC):
    """Assembler of the chunks of one streamed answer (or one whole answer) into deltas and, at the end, a `Reply`.

    spoke: visible text has been yielded, so that a retry would be noticed
    finished: the end of the answer was marked: by a stop reason, or in another way of the format
    bounds: of what it may hold
    """

    def __init__(self) -> None:
        from agent.model.wire_formats.reply_bounds import ReplyBounds

        self.spoke = False
        self.finished = False
        self.bounds = ReplyBounds()

    @abstractmethod
    def feed(self, piece: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        """Add one chunk and yield its displayable deltas. Raises ReplyTooLarge."""

    def take_texts(self, events: Sequence[str], start: int) -> tuple[TextDelta | None, int]:
        """Add the chunks from `start` on that are read without parsing; return their text, and the place after them."""
        return None, start

    @property
    @abstractmethod
    def is_whole(self) -> bool:
        """Whether what came is a whole answer, for a body that ended in order without any mark of the answer's end."""

    @abstractmethod
    def build_reply(self, usage: Usage) -> Reply:
        """Return the finished answer."""

    @property
    @abstractmethod
    def usage(self) -> Usage:
        """Usage as counted by the server, all zero if absent; `cost` only if the server itself reports it."""


class Wire(Protocol):
    """One format of requests and answers, as an endpoint expects it.

    path: below the API base; tier: of the prices that its requests cost, "" for the standard ones
    endpoint: name of the address that is spoken to; parts of replies that came from it go back to it
    """

    path: str
    endpoint: str

    @property
    def tier(self) -> str: ...

    def headers(self, key: str) -> dict[str, str]:
        """Return headers with the key ("" if there is none) and the format's version."""
        ...

    def body(self, request: Request) -> bytes:
        """Return the encoded request; its common prefix with the previous one comes first, in the same bytes."""
        ...

    def create_assembler(self) -> Assembler:
        """Return an assembler for one answer."""
        ...

    def parse_error(self, piece: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]] | None:
        """Return (status, details) of a chunk that reports an error; None for any other."""
        ...

    def adapt_to_refusal(self, said: str) -> bool:
        """Change the form after this refusal; return False if no change would meet it."""
        ...


Dialect = TypeVar("Dialect", bound="DataclassInstance")


def apply_concession(
    dialect: Dialect, said: str, concessions: Mapping[str, Mapping[str, bool | str | None]]
) -> Dialect | None:
    """Return the dialect changed to meet an endpoint's refusal; None if no change would meet it.

    concessions: by a word of the refusal, the fields of the dialect to change
    """
    for word, change in concessions.items():
        fresh = {key: value for key, value in change.items() if getattr(dialect, key) != value}
        if word in said and fresh:
            return replace(dialect, **fresh)
    return None


def encode_json(value: object) -> bytes:
    """Return compact JSON in UTF-8. Lone surrogates (from odd file names) become `?`: many servers refuse them."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def encode_message(message: Message, form: str, make: Callable[[], object]) -> bytes:
    """Return a message's bytes in a format, encoded once."""
    found = message.wire.get(form)
    if found is None:
        found = message.wire[form] = encode_json(make())
    return found


def find_last_permanent_message(messages: Sequence[Message]) -> int:
    """Return the index of the last message that the next request will also contain; -1 if there is none."""
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if not (isinstance(message, UserMessage) and message.passing):
            return place
    return -1


class EncodedPrefix:
    """System prompt and tools as bytes: encoded once, since they don't change between steps."""

    def __init__(self, system: Callable[[str], bytes], tools: Callable[[Sequence[ToolSpec]], bytes]) -> None:
        self._make = (system, tools)
        self._of: tuple[str, Sequence[ToolSpec]] | None = None
        self.system = self.tools = b""

    def encode_prefix(self, request: Request) -> EncodedPrefix:
        """Return self, with the bytes for this request."""
        # Equal strings and lists of the same objects compare equal by identity, without reading them.
        if self._of is None or self._of[0] != request.system or self._of[1] != request.tools:
            system, tools = self._make
            self._of = (request.system, request.tools)
            self.system, self.tools = system(request.system), tools(request.tools)
        return self


class EventParser:
    """Parser of server-sent events: bytes in as they arrive, the `data` of each finished event out.

    Each byte is looked at once. Raises ReplyTooLarge for a line or an event above its bound.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # of a line without its end
        self._rest_size = 0
        self._data: list[str] = []
        self._data_size = 0

    def feed(self, piece: bytes) -> list[str]:
        """Return the data of the events that `piece` completes."""
        from agent.model.wire_formats.reply_bounds import check_event_size

        if b"\n" not in piece and b"\r" not in piece:
            self._keep_rest(piece)
            return []
        lines = b"".join((*self._rest, piece)).splitlines(keepends=True)
        self._rest, self._rest_size = [], 0
        # A line without its end may continue, and one that ends in CR may be half of CR LF.
        if not lines[-1].endswith(b"\n"):
            self._keep_rest(lines.pop())
        events: list[str] = []
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            field, _, value = text.partition(":")
            if field == "data":
                self._data_size += len(line)
                check_event_size(self._data_size)
                self._data.append(value.removeprefix(" "))
            elif not text and self._data:
                events.append("\n".join(self._data))
                self._data.clear()
                self._data_size = 0
        return events

    def finish(self) -> list[str]:
        """Return the event that the end of the stream completes: some servers omit the last empty line."""
        return self.feed(b"\n\n")

    def _keep_rest(self, piece: bytes) -> None:
        from agent.model.wire_formats.reply_bounds import check_event_size

        if piece:
            self._rest.append(piece)
            self._rest_size += len(piece)
            check_event_size(self._rest_size)


def parse_token_count(value: object) -> int:
    """Return a number of tokens as sent by a server; 0 for anything else."""
    return int(value) if isinstance(value, int | float) else 0
