"""Masking: old or superseded outputs are sent as a digest with a reference to the full text.

Supersession is derived from effects and arguments: a file read or edited again, the same call repeated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from agent.context.projection.digest import KnownWords, build_digest
from agent.context.projection.message_slots import Slot
from agent.model.protocol import AssistantMessage, ToolMessage
from tools.core.action import Action

WORTH = 400
"""Bytes from which an output is worth a digest: the line that replaces it takes about a hundred."""


def mask_outputs(
    slots: Sequence[Slot], start: int, end: int, known: KnownWords, *, only: Mapping[int, str] | None = None
) -> dict[str, str]:
    """Return the masked text of each long, unmasked output in `slots[start:end]`: event id → text.

    known: words of the retained history; words of the digests are added
    only: indices of the outputs that may be masked → id of the superseding event; None: all outputs
    """
    gone = find_superseded(slots) if only is None else only
    for at, slot in enumerate(slots):
        if only is not None and at not in only:
            known.add_text(
                render_message(slot.message)
                if isinstance(slot.message, AssistantMessage)
                else slot.message.text
            )
    texts: dict[str, str] = {}
    for at in range(start, end):
        slot = slots[at]
        if not isinstance(slot.message, ToolMessage):
            if isinstance(slot.message, AssistantMessage):
                known.add_text(render_message(slot.message))
            continue
        if slot.short or slot.size < WORTH or (only is not None and at not in only):
            known.add_text(slot.message.text)
            continue
        reference = slot.ref or f"e{slot.first}"
        why = f"superseded by {gone[at]}" if at in gone else "shortened"
        head = (
            f'[{slot.message.name}: {len(slot.text)} characters {why}; recall(ref="{reference}") shows all]'
        )
        text = "\n".join(part for part in (head, build_digest(slot.text, known)) if part)
        if len(text.encode("utf-8", "replace")) < slot.size * 9 // 10:
            texts[f"e{slot.first}"] = text
    return texts


def find_superseded(slots: Sequence[Slot]) -> dict[int, str]:
    """Return the index of each superseded output → id of the superseding event."""
    found: dict[int, str] = {}
    by_call: dict[str, int] = {}
    by_file: dict[str, list[int]] = {}
    actions: dict[str, Action] = {}
    for at, slot in enumerate(slots):
        message = slot.message
        if isinstance(message, AssistantMessage):
            actions = {action.id: action for action in message.actions}
        if not isinstance(message, ToolMessage) or message.call not in actions:
            continue
        now = f"e{slot.first}"
        key = build_call_key(actions[message.call])
        if (before := by_call.get(key)) is not None:
            found.setdefault(before, now)
        by_call[key] = at
        data = message.data or {}
        for path in list_changed_paths(data):
            for before in by_file.pop(path, ()):
                found.setdefault(before, now)
        if isinstance(shown := data.get("path"), str) and "first" in data:
            by_file[shown] = [
                b for b in by_file.get(shown, ()) if not _note_if_covered(found, data, slots[b], b, now)
            ]
            by_file[shown].append(at)
    return found


def build_call_key(action: Action) -> str:
    """Return a key that is equal for calls with the same tool and arguments."""
    return f"{action.tool} {json.dumps(dict(action.arguments), sort_keys=True, default=repr)}"


def list_changed_paths(data: Mapping[str, Any]) -> list[str]:
    """Return the files that an observation's data reports as changed."""
    found = [str(path) for path in data.get("changed", ())]
    if "diff" in data and isinstance(data.get("path"), str):
        found.append(data["path"])
    if "rungs" in data and isinstance(files := data.get("files"), list):
        found += [str(path) for path in files]
    return found


@lru_cache(maxsize=512)  # each compaction renders the messages again, and they never change
def render_message(message: AssistantMessage) -> str:
    """Render a model's message with its actions as one text."""
    asked = (action.raw or json.dumps(dict(action.arguments), default=repr) for action in message.actions)
    return "\n".join([message.text, *asked])


def _note_if_covered(found: dict[int, str], data: Mapping[str, Any], old: Slot, at: int, now: str) -> bool:
    """Return whether a read covers all lines of an older read of the same file; record it in `found` if so."""
    before = old.message.data if isinstance(old.message, ToolMessage) and old.message.data else {}
    covers = data["first"] <= before.get("first", 0) and before.get("last", 0) <= data.get("last", 0)
    if covers:
        found.setdefault(at, now)
    return bool(covers)
