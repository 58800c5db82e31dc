"""The projection: from the log to the messages a model is sent, one event at a time.

Invariants (each guarded by a test of that name):
- an action never stands without its observation, nor an observation without its action
- the observations of one batch follow their message directly, in the order of the actions
- what a person said stays in order, and is delivered after the batch it fell into
- the same events give the same messages; adding events changes no earlier message, except at a compaction
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.events import Compaction, Event, MessageEvent, ObservationEvent, Prompt, SessionStart, Steer
from agent.model.base import AssistantMessage, Message, Request, ToolMessage, ToolSpec, UserMessage
from tools.action import Action

BYTES_PER_TOKEN = 3.6
"""English prose has about 4 bytes a token, code and JSON about 3.2; corrected by reported usage as it comes in."""


class Projection:
    """The messages of one session, kept up to date by `add`; a step costs only what is new."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.tools = tuple(tools)
        self.messages: list[Message] = []
        self.system = ""
        self._batch: dict[
            str, ObservationEvent | None
        ] = {}  # actions of the last message → their observations
        self._waiting: list[Message] = []  # said while the batch was running
        self._place: dict[str, int] = {}  # observation event id → index in messages
        self._refs: dict[str, str] = {}
        self._bytes = 0
        self._tokens_per_byte = 1 / BYTES_PER_TOKEN

    def add(self, event: Event) -> None:
        """Take in the next event of the log."""
        match event:
            case SessionStart():
                self.system = event.system
            case Prompt() | Steer():
                self._say(UserMessage(text=event.text))
            case MessageEvent():
                self._message(event)
            case ObservationEvent():
                self._observation(event)
            case Compaction():
                self._mask(event)

    def clear(self) -> None:
        """Forget the events taken in: the session went back, and those of its branch are handed in again."""
        rate = self._tokens_per_byte
        self.__init__(self.tools)  # type: ignore[misc]
        self._tokens_per_byte = rate

    def request(self) -> Request:
        """What to send now. The list is a copy of references: messages are shared and never changed."""
        return Request(system=self.system, messages=list(self.messages), tools=self.tools)

    @property
    def tokens(self) -> int:
        """Estimated tokens of the messages (without system prompt and tools)."""
        return int(self._bytes * self._tokens_per_byte)

    def correct(self, reported: int) -> None:
        """Take a provider's count of the input tokens of the last request to correct the estimate."""
        size = self._bytes + _size(self.system)
        if size > 2000 and reported:  # below that, fixed overheads would dominate the ratio
            self._tokens_per_byte = min(max(reported / size, 0.1), 1.0)

    def maskable(self) -> list[tuple[str, int]]:
        """(event id, bytes) of each observation that still stands in full, oldest first."""
        found = []
        for event_id, place in self._place.items():
            message = self.messages[place]
            assert isinstance(message, ToolMessage)
            found.append((event_id, _size(message.text)))
        return found

    def _say(self, message: Message) -> None:
        if self._batch:
            self._waiting.append(message)
        else:
            self._push(message)

    def _message(self, event: MessageEvent) -> None:
        if not event.text and not event.actions:
            return  # an empty reply (or one interrupted before its first word) has no place in a valid history
        actions = tuple(
            Action(id=a.id, tool=a.tool, arguments=a.arguments, raw=a.raw, problem=a.problem)
            for a in event.actions
        )
        self._push(
            AssistantMessage(
                text=event.text, actions=actions, reasoning=event.reasoning, kept=tuple(event.kept)
            )
        )
        self._batch = {action.id: None for action in actions}

    def _observation(self, event: ObservationEvent) -> None:
        if event.call not in self._batch:
            return  # the harness's own action (a check at the end of a turn): no model asked for it
        self._batch[event.call] = event
        if all(self._batch.values()):
            for each in self._batch.values():
                assert each is not None
                self._place[each.id] = len(self.messages)
                self._refs[each.id] = each.ref
                self._push(
                    ToolMessage(
                        call=each.call, name=each.tool, text=each.text, failed=each.failed, data=each.data
                    )
                )
            self._batch = {}
            for message in self._waiting:
                self._push(message)
            self._waiting = []

    def _mask(self, event: Compaction) -> None:
        for event_id in event.masked:
            place = self._place.pop(event_id, None)
            if place is None:
                continue
            old = self.messages[place]
            assert isinstance(old, ToolMessage)
            ref = self._refs.pop(event_id, "")
            how = f'; recall(ref="{ref}") shows it' if ref else ""
            text = f"[{old.name}: output of {len(old.text)} characters left out to save space{how}]"
            self._bytes += _size(text) - _size(old.text)
            self.messages[place] = ToolMessage(
                call=old.call, name=old.name, text=text, failed=old.failed, data=old.data
            )

    def _push(self, message: Message) -> None:
        self._bytes += _size(message.text)
        if isinstance(message, AssistantMessage):
            self._bytes += sum(len(a.raw) or len(repr(a.arguments)) for a in message.actions)
        self.messages.append(message)


def _size(text: str) -> int:
    """Bytes on the wire. Lone surrogates (from odd file names, from a model's JSON) are sent as `?`."""
    return len(text.encode("utf-8", "replace"))


def compaction(projection: Projection, window: int) -> Compaction | None:
    """Masking in one batch, when the estimate passes three quarters of the window; None while there is room.

    The oldest observations go first until half the window is free. Batches, because each one
    breaks the provider's prompt cache once; a mask that moves at every step costs more than it
    saves (measured: 135 to 224 % of no compression, "The Complexity Trap", arXiv 2508.21433).
    """
    before = projection.tokens
    if before <= window * 3 // 4:
        return None
    rate = before / max(projection._bytes, 1)
    excess = before - window // 2
    masked: list[str] = []
    saved = 0.0
    candidates = projection.maskable()
    for event_id, size in candidates[: max(len(candidates) - 2, 0)]:  # the last two are what it works on
        if saved >= excess:
            break
        if size > 300:  # a shorter text is no longer than the line that would replace it
            masked.append(event_id)
            saved += (size - 120) * rate
    if not masked:
        return None
    return Compaction(
        masked=dict.fromkeys(masked, ""),
        tokens_before=before,
        tokens_after=int(before - saved),
        reason=f"over three quarters of the window of {window} tokens",
    )
