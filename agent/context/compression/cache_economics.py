"""Cost of breaking the provider's prompt cache, against the tokens that a compaction saves in later steps.

A provider's cache covers the request up to the first change. So a change re-sends all that follows it at full
price, and pays only for large outputs near the end of the history, or when the cache is lost anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.context.projection.message_slots import Slot, count_bytes

CACHED, FRESH = 0.1, 1.25
"""Price relative to an input token: read from the provider's cache, and written to it."""


def select_paying_masks(
    slots: Sequence[Slot], texts: Mapping[str, str], *, steps: float, cold: bool
) -> dict[str, str]:
    """Return the suffix of `texts` (event id → masked text) that pays most; empty if none pays.

    steps: estimated requests before the next compaction
    cold: the provider's cache holds nothing of this history, so a change costs nothing
    """
    at = [i for i, slot in enumerate(slots) if f"e{slot.first}" in texts]
    best, start = 0.0, len(slots)
    saved = 0
    behind = 0
    end = len(slots)
    for i in reversed(at):
        saving = slots[i].size - count_bytes(texts[f"e{slots[i].first}"])
        behind += sum(slot.size for slot in slots[i:end]) - saving
        saved += saving
        end = i
        gain = CACHED * saved * steps - (0.0 if cold else (FRESH - CACHED) * behind)
        if gain > best:
            best, start = gain, i
    return {
        event: text
        for event, text in texts.items()
        if int(event[1:]) >= (slots[start].first if best else 10**12)
    }
