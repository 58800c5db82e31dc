"""When shortening pays before there is no more room: what is saved at every step to come, against a cache that breaks.

A provider's cache holds what was sent, up to the first change. So the change costs all that stands behind it once
more, and is worth it only for what is large and stands near the end, or when the cache is lost anyhow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.context.projection.message_slots import Slot, count_bytes

CACHED, FRESH = 0.1, 1.25
"""Of the price of an input token: read from a provider's cache, and written to it."""


def select_paying_masks(
    slots: Sequence[Slot], texts: Mapping[str, str], *, steps: float, cold: bool
) -> dict[str, str]:
    """Those of `texts` (event id → what would be sent) that pay, from one of them to the end; none if none do.

    steps: requests that will be made before the next compaction, by and large
    cold: the provider's cache holds nothing of this history, so that a change costs nothing
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
