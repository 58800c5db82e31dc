"""The projection: builds the messages of a request from the log, one event at a time.

The invariants of its messages are checked by `tests/support/invariants.py`. The same events give the same
messages, and a new event changes no earlier message except at a compaction, so that a step costs only its new
part and a provider's prompt cache holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.context.projection.entering_outputs import EnteringOutputs
from agent.context.projection.message_slots import (
    FoldMessage,
    NoteMessage,
    Slot,
    StateMessage,
    count_bytes,
    count_message_bytes,
)
from agent.events import (
    Compaction,
    Event,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SessionStart,
    Steer,
)
from agent.model.protocol import AssistantMessage, Image, Message, Request, ToolMessage, ToolSpec, UserMessage
from agent.session.log_index import parse_event_id
from tools.core.action import Action

if TYPE_CHECKING:
    from agent.context.projection.outline import Outline

BYTES_PER_TOKEN = 3.6
"""English prose has about 4 bytes a token, code and JSON about 3.2; corrected by the usage that providers report."""

IMAGE_BYTES = 5_000
"""Bytes counted for a picture: providers charge about 1,500 tokens for a screenshot, whatever its compression."""

NEVER_SENT = 4 << 20
"""Bytes of a history that must be compacted before it is sent to any model.

Until then its outputs stay unreduced, since to reduce ten thousand of them takes longer than to fold them.
"""

UNANSWERED = "no result of this action was recorded; it may have taken effect"
"""Text in place of an observation missing from the log."""

NOT_SENT = "\n[images of this message that are missing or damaged, and not sent: {}]"
"""Text behind a prompt whose images cannot all be sent."""

UNREAD = "[e{first} to e{last}: not read yet; recall(find=WORDS) searches them]"
"""Text in place of the far past of a log that was never compacted."""


class Projection:
    """The messages of one session, updated by `add_event`; a step costs only its new part."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self.tools = tuple(tools)
        self.slots: list[Slot] = []
        self.system = ""
        self.shared: int | None = None
        self.profile = ""
        self.undone: frozenset[str] = frozenset()
        self.picture: Callable[[str], Image | None] = lambda name: None
        """Return the picture of a prompt by its name."""
        self._tokens_per_byte = 1 / BYTES_PER_TOKEN
        self._fixed: tuple[object, int] = (None, 0)  # key of the cached value, and its bytes
        self._entering = EnteringOutputs("whole")
        self._loading = False
        self.clear()

    def clear(self, undone: Iterable[str] = ()) -> None:
        """Discard all events: those of another branch, or without the compactions `undone`, follow."""
        self.slots = []
        self.undone = frozenset(undone)
        self._entering.clear()
        # actions of the last message → their observations
        self._batch: dict[str, ObservationEvent | None] = {}
        self._asked: Slot | None = None  # that message, until its batch is complete
        self._waiting: list[Slot] = []  # user messages that arrived during the batch
        self._bytes = 0
        self._fold_bytes = 0
        self._said_bytes = 0
        self._whole_from = 0
        self._prompts_shortened = False
        self._cuts: list[
            tuple[int, int]
        ] = []  # place from which on outputs are cut, and to how many characters

    def add_event(self, event: Event) -> None:
        """Apply the next event of the log."""
        match event:
            case SessionStart():
                if event.system:
                    self.system, self.shared = event.system, event.shared
                    self.profile = event.profile or ""
                    self._cuts.append((_get_place(event), event.cut or 0))
                self._entering.how = event.outputs
            case Prompt():
                self._close_batch()
                self._add_user_message(event)
            case Steer():
                self._add_user_message(event)
            case MessageEvent():
                self._close_batch()
                self._add_model_message(event)
            case ObservationEvent():
                self._add_observation(event)
            case Compaction() if event.id not in self.undone:
                self._apply_compaction(event)

    def load_events(self, events: Iterable[Event]) -> None:
        """Apply many events. Outputs are reduced only after the last one: most are folded by then."""
        self._loading = True
        for event in events:
            self.add_event(event)
        self._loading = False
        if sum(slot.size for slot in self.slots) < NEVER_SENT:
            self._reduce_outputs_again()
        self._recount_bytes()

    def build_outline(self) -> Outline:
        """Return the positions of the source events of the messages."""
        from agent.context.projection.outline import Outline, Row

        rows = [Row(s.first, s.last, isinstance(s.message, FoldMessage), s.by) for s in self.slots]
        going: list[int] = []
        if self._asked is not None:
            seen = [_get_place(event) for event in self._batch.values() if event is not None]
            going = [self._asked.first, *seen, *(slot.first for slot in self._waiting)]
        return Outline(rows, going)

    def rebuild(self, outline: Outline, events: Mapping[int, Event]) -> None:
        """Rebuild the messages of an outline; `load_events` with the later events follows.

        events: by position. Raises ValueError if they do not give these messages.
        """
        from agent.context.projection.folding import rebuild_fold_slot

        self._loading = True
        for row in outline.rows:
            event = events[row.by[0] if row.fold else row.first]
            if row.fold:
                self._close_batch()
                self._append_slot(rebuild_fold_slot(row, event))
            elif isinstance(event, ObservationEvent):
                self._add_observation(event)
            elif (
                self._asked is None or self._asked.first != row.first
            ):  # else an observation missing from the log
                self._close_batch()
                self.add_event(event)
        self._close_batch()
        if [(slot.first, slot.last) for slot in self.slots] != [row[:2] for row in outline.rows]:
            raise ValueError("not the events of this outline")
        from agent.context.projection.truncation import mask_slot

        for i, row in enumerate(outline.rows):
            for number in row.by[1:] if row.fold else row.by:
                made = events[number]
                texts = {parse_event_id(ref): text for ref, text in getattr(made, "masked", {}).items()}
                self.slots[i] = mask_slot(self.slots[i], texts[row.first], _get_place(made))
        for number in outline.open:
            self.add_event(events[number])
        self._loading = False

    def add_unread_note(self, first: int, last: int, size_: int) -> None:
        """Add one note for all steps from event `first` to `last`, too many to be sent: `size_` bytes in total."""
        self._close_batch()
        self._append_slot(Slot(NoteMessage(text=UNREAD.format(first=first, last=last)), first, last, size_))

    @property
    def messages(self) -> list[Message]:
        """The messages, oldest first. They are shared and never changed."""
        return [slot.message for slot in self.slots]

    def build_request(self, state: str = "") -> Request:
        """Build the next request. `state` is appended after all that a provider may have cached."""
        messages = self.messages
        if state:
            messages.append(StateMessage(text=state))
        return Request(system=self.system, messages=messages, tools=self.tools, shared=self.shared)

    @property
    def tokens(self) -> int:
        """Estimated tokens of the messages (without system prompt and tools)."""
        return int(self._bytes * self._tokens_per_byte)

    @property
    def fold_tokens(self) -> int:
        """Estimated tokens of the records and summaries of the past."""
        return self.estimate_tokens(self._fold_bytes)

    @property
    def prompts_shortened(self) -> bool:
        """Whether a user message is shortened."""
        return self._prompts_shortened

    @property
    def verbatim_from(self) -> int:
        """Position of the event from which all messages are sent as they entered the request."""
        return self._whole_from

    @property
    def raw_tokens(self) -> int:
        """Estimated tokens of the steps that are not folded."""
        return self.estimate_tokens(self._bytes - self._fold_bytes - self._said_bytes)

    @property
    def fixed_tokens(self) -> int:
        """Estimated tokens of the system prompt and the tools."""
        return self.estimate_tokens(self._count_fixed_bytes())

    @property
    def request_bytes(self) -> int:
        """Bytes of the messages, the system prompt and the tools."""
        return self._bytes + self._count_fixed_bytes()

    def estimate_tokens(self, size_: int) -> int:
        """Return the estimated tokens of `size_` bytes."""
        return int(size_ * self._tokens_per_byte)

    def estimate_bytes(self, tokens: int) -> int:
        """Return the estimated bytes of `tokens`."""
        return int(tokens / self._tokens_per_byte)

    def count_bytes_after(self, event: Compaction) -> int:
        """Return the bytes of the messages after this compaction; lost references are sent as text again."""
        tried = copy(self)
        tried.slots = list(self.slots)
        tried._entering = EnteringOutputs(self._entering.how)
        tried._apply_compaction(event)
        return tried._bytes

    @property
    def byte_count(self) -> int:
        """Bytes of the messages."""
        return self._bytes

    def calibrate_estimate(self, reported: int) -> None:
        """Correct the estimate by a provider's count of the input tokens of the last request."""
        sent = self.request_bytes
        if sent > 8000 and reported:  # below that, overheads of the wire format would dominate the ratio
            self._tokens_per_byte = min(max(reported / sent, 0.1), 1.0)

    def _count_fixed_bytes(self) -> int:
        of = (self.system, self.tools)
        if self._fixed[0] != of:
            tools = sum(count_bytes(f"{each.name}{each.description}{each.parameters}") for each in self.tools)
            self._fixed = (of, count_bytes(self.system) + tools)
        return self._fixed[1]

    def _add_user_message(self, event: Prompt | Steer) -> None:
        number = _get_place(event)
        found = [self.picture(name) for name in event.images or ()]
        images = tuple(image for image in found if image is not None)
        text = event.text + NOT_SENT.format(len(found) - len(images)) * (len(images) < len(found))
        of = NoteMessage if isinstance(event, Steer) and event.by == "harness" else UserMessage
        message = of(text=text, images=images)
        slot = Slot(message, number, number, count_bytes(text) + len(images) * IMAGE_BYTES)
        if self._batch:
            self._waiting.append(slot)
        else:
            self._append_slot(slot)

    def _add_model_message(self, event: MessageEvent) -> None:
        if not event.text and not event.actions:
            return  # an empty reply (or one interrupted before its first word) is not valid in a history
        actions = {
            a.id: Action(id=a.id, tool=a.tool, arguments=a.arguments, raw=a.raw, problem=a.problem)
            for a in reversed(event.actions)  # of two with one id, the first was answered
        }
        message = AssistantMessage(
            text=event.text,
            actions=tuple(reversed(actions.values())),
            reasoning=event.reasoning,
            kept=tuple(event.kept),
        )
        number = _get_place(event)
        slot = Slot(message, number, number, count_message_bytes(message))
        if actions:
            self._asked = slot
            self._batch = {action.id: None for action in message.actions}
        else:
            self._append_slot(slot)

    def _add_observation(self, event: ObservationEvent) -> None:
        if event.call not in self._batch or self._batch[event.call] is not None:
            return  # an action of the harness (a check at the end of a turn), or a second answer
        self._batch[event.call] = event
        if all(self._batch.values()):
            self._close_batch()

    def _close_batch(self) -> None:
        """Append the finished batch, message and observations together; lost observations get a placeholder."""
        if self._asked is None:
            return
        from agent.context.projection.truncation import cut_output

        asked, self._asked = self._asked, None
        self._append_slot(asked)
        assert isinstance(asked.message, AssistantMessage)
        for action in asked.message.actions:
            if (event := self._batch[action.id]) is not None:
                text = cut_output(event.text, self._find_cut(_get_place(event)))
                message = ToolMessage(
                    call=event.call, name=event.tool, text=text, failed=event.failed, data=event.data
                )
                slot = Slot(message, _get_place(event), _get_place(event), count_bytes(text), ref=event.ref)
                self._append_slot(self._reduce_output(slot, action))
            else:
                lost = ToolMessage(call=action.id, name=action.tool, text=UNANSWERED, failed=True)
                self._append_slot(Slot(lost, asked.first, asked.first, count_bytes(UNANSWERED)))
        self._batch = {}
        waiting, self._waiting = self._waiting, []
        for slot in waiting:
            self._append_slot(slot)

    def _find_cut(self, place: int) -> int:
        return next((cut for start, cut in reversed(self._cuts) if start < place), 0)

    def _apply_compaction(self, event: Compaction) -> None:
        from agent.context.projection.folding import fold_slots

        if event.masked:
            from agent.context.projection.truncation import mask_slot

            place = _get_place(event)
            texts = {parse_event_id(each): text for each, text in event.masked.items()}
            self.slots = [
                mask_slot(slot, texts[slot.first], place) if slot.first in texts else slot
                for slot in self.slots
            ]
        for fold in event.folds:
            self.slots = fold_slots(self.slots, fold, _get_place(event))
        self._reduce_outputs_again()
        self._recount_bytes()

    def _recount_bytes(self) -> None:
        self._bytes = sum(slot.size for slot in self.slots)
        self._fold_bytes = sum(slot.size for slot in self.slots if isinstance(slot.message, FoldMessage))
        self._said_bytes = sum(slot.size for slot in self.slots if slot.is_from_person)
        self._whole_from = max((slot.last + 1 for slot in self.slots if slot.short), default=0)
        self._prompts_shortened = any(slot.short for slot in self.slots if slot.is_from_person)

    def _reduce_output(self, slot: Slot, action: Action) -> Slot:
        """Return the slot of an output as it enters the request."""
        if self._loading:
            return slot
        message, text = slot.message, slot.text
        assert isinstance(message, ToolMessage)
        sent = self._entering.reduce_output(
            text, action, message.data, slot.ref or f"e{slot.first}", failed=message.failed
        )
        if sent == message.text:
            return slot
        whole = text if sent != text else ""
        message = replace(message, text=sent, whole=whole)
        return Slot(message, slot.first, slot.last, count_bytes(sent), ref=slot.ref, whole=whole)

    def _reduce_outputs_again(self) -> None:
        """Reduce all outputs again after a compaction: referenced text may be gone.

        Outputs before the first change are not affected, since each output depends only on those before it.
        """
        self._entering.clear()
        if self._entering.how == "whole" or self._loading:
            return
        actions: dict[str, Action] = {}
        asked = 0
        for i, slot in enumerate(self.slots):
            message = slot.message
            if isinstance(message, AssistantMessage):
                actions, asked = {action.id: action for action in message.actions}, slot.first
            if not isinstance(message, ToolMessage) or slot.short:
                self._entering.add_message(message)
            elif slot.first != asked:  # else a placeholder of a lost observation
                self.slots[i] = self._reduce_output(slot, actions[message.call])

    def _append_slot(self, slot: Slot) -> None:
        if not isinstance(slot.message, ToolMessage) and not self._loading:
            self._entering.add_message(slot.message)
        self._bytes += slot.size
        self._said_bytes += slot.size if slot.is_from_person else 0
        self.slots.append(slot)


def _get_place(event: Event) -> int:
    return parse_event_id(event.id) if event.id else 0
