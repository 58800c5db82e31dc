"""The last resort of compaction: long messages are cut to their beginning and end, within the available room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.context.projection.message_slots import Slot, count_bytes, count_message_bytes
from agent.model.protocol import AssistantMessage, Message, ToolMessage, UserMessage
from tools.core.action import Action

LONG = 1_500
"""Bytes from which a message is worth cutting."""

ARGUMENT = 400
"""Characters kept of an action's argument: the full content is in the file, and in the log."""

ITEMS = 20
"""Items kept of an argument that is a list."""


def cut_output(text: str, most: int) -> str:
    """Return an output for a model with a small window, without its middle; unchanged up to `most` characters."""
    if not most or len(text) <= most:
        return text
    between = f"\n[… {len(text) - most:,} characters left out: ask for less …]\n"
    return _cut_middle(text, len(text[:most].encode("utf-8", "replace")), between)


def find_long_slots(slots: Sequence[Slot]) -> list[Slot]:
    """Return the messages that can be cut."""
    return [slot for slot in slots if slot.size > LONG]


def cut_slots(slots: Sequence[Slot], room: int) -> dict[str, str]:
    """Return the cut text of each long message: event id → text; for a model's message the note for its arguments.

    room: bytes for all of them; those that need less than their share leave the rest to the others
    """
    texts: dict[str, str] = {}
    for slot in find_long_slots(slots):
        if not isinstance(slot.message, AssistantMessage):
            continue
        room -= min(slot.size, LONG)
        texts[f"e{slot.first}"] = f'[… cut; recall(ref="e{slot.first}") shows all]'
    others = [slot for slot in find_long_slots(slots) if not isinstance(slot.message, AssistantMessage)]
    share = max(_compute_share([slot.size for slot in others], room), ARGUMENT)
    for slot in others:
        if slot.size > share:
            how = f'\n[… cut; recall(ref="{slot.ref or f"e{slot.first}"}") shows all …]\n'
            texts[f"e{slot.first}"] = _cut_middle(slot.message.text, share - len(how.encode()), how)
    return texts


def shorten_message(message: AssistantMessage, note: str) -> AssistantMessage:
    """Truncate the text and arguments of a model's message. Parts that the provider requires back are kept."""
    actions = tuple(_shorten_action(action, note) for action in message.actions)
    return AssistantMessage(
        text=_truncate_text(message.text, note, LONG),
        actions=actions,
        reasoning=message.reasoning,
        kept=message.kept,
    )


def _shorten_action(action: Action, note: str) -> Action:
    arguments: Mapping[str, Any] = _shorten_value(dict(action.arguments), note)
    return replace(action, arguments=arguments, raw=_truncate_text(action.raw, note, ARGUMENT))


def _shorten_value(value: Any, note: str) -> Any:
    match value:
        case str():
            return _truncate_text(value, note, ARGUMENT)
        case dict():
            return {key: _shorten_value(each, note) for key, each in value.items()}
        case list() | tuple():
            return [_shorten_value(each, note) for each in value[:ITEMS]] + (
                [note] if len(value) > ITEMS else []
            )
        case _:
            return value


def _truncate_text(text: str, note: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} {note}"


def _compute_share(sizes: Sequence[int], room: int) -> int:
    """Return the maximum bytes of each message."""
    share = 0
    for number, each in enumerate(sorted(sizes)):
        share = max(room, 0) // (len(sizes) - number)
        if each > share:
            return share
        room -= each
    return max(sizes, default=0)


def _cut_middle(text: str, room: int, between: str) -> str:
    """Cut the middle of a text: two thirds of the room for the beginning, one for the end.

    Text with many bytes per character gets fewer characters.
    """
    characters = max(int(room * len(text) / max(count_bytes(text), 1)), 30)
    return f"{text[: characters * 2 // 3]}{between}{text[-(characters // 3) :]}"


def mask_slot(slot: Slot, text: str, place: int) -> Slot:
    """Return the slot with another text ("": one line with the reference to the full output).

    place: of the compaction that says so
    """
    short = _shorten_slot(slot, text)
    if short is not slot:
        short.by = (*slot.by, place)
    return short


def _shorten_slot(slot: Slot, text: str) -> Slot:
    old = slot.message
    if isinstance(old, ToolMessage):
        how = f'; recall(ref="{slot.ref or f"e{slot.first}"}") shows it'
        text = text or f"[{old.name}: output of {len(slot.text)} characters left out to save space{how}]"
        message: Message = ToolMessage(
            call=old.call, name=old.name, text=text, failed=old.failed, data=old.data
        )
    elif isinstance(old, UserMessage) and text:
        message = type(old)(text=text)
    elif isinstance(old, AssistantMessage) and text:
        message = shorten_message(old, text)
        return Slot(message, slot.first, slot.last, count_message_bytes(message), short=True)
    else:
        return slot
    return Slot(message, slot.first, slot.last, count_bytes(text), short=True, ref=slot.ref)
