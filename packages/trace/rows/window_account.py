"""What the window of a session held at each step, by kind, counted from its log without building the requests.

It is an estimate: bytes of what the log sent, scaled to the provider's count of a request where there is one. Outputs
that a request repeats in short form are counted whole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping
from typing import Any

from agent.context.projection.projection import BYTES_PER_TOKEN
from sandbox.lazy_dataclass import dataclass

PARTS = ("prefix", "words", "replies", "observations", "shortened")
"""Parts of a window: system prompt and tools, what people said, replies with their actions, results, what stands for
earlier ones."""

MASKED_BYTES = 80
"""Bytes of the line that is sent for an observation that was masked without a text of its own."""


@dataclass(slots=True)
class _Entry:
    """A part of the window. place: that of its event in the log; size: bytes"""

    place: int
    part: str
    size: int


class WindowAccount:
    """Follows a branch of a log; `measure` says what a request would hold now."""

    def __init__(self) -> None:
        self._history: list[_Entry | tuple[int, Mapping[str, Any]]] = []
        self._undone: set[str] = set()
        self._tools = 0
        self._clear()

    def _clear(self) -> None:
        self._entries: list[_Entry] = []
        self._totals = dict.fromkeys(PARTS, 0)

    def add(self, place: int, part: str, size: int) -> None:
        """Add what the event at a place sends. A new system prompt takes the place of the earlier one."""
        entry = _Entry(place, part, size)
        self._history.append(entry)
        self._enter(entry)

    def set_tools(self, size: int) -> None:
        """Set the bytes of the descriptions of tools."""
        self._tools = size

    def compact(self, place: int, event: Mapping[str, Any]) -> None:
        """Apply a compaction, or take an earlier one back."""
        self._history.append((place, event))
        if undone := str(event.get("undoes") or ""):
            self._undone.add(undone)
            self._replay()
        else:
            self._shorten(place, event)

    def keep_branch(self, places: Collection[int]) -> None:
        """Forget what is not on the branch of these places."""
        kept = [each for each in self._history if _get_place(each) in places]
        self._undone = {
            str(each[1].get("undoes")) for each in kept if isinstance(each, tuple) and each[1].get("undoes")
        }
        self._history = kept
        self._replay()

    def measure(self, reported: int) -> list[int]:
        """Return the tokens of each of `PARTS`. reported: input tokens as the provider counted them, 0 if unknown"""
        sizes = [self._totals[part] + (self._tools if part == "prefix" else 0) for part in PARTS]
        whole = sum(sizes)
        scale = reported / whole if reported and whole else 1 / BYTES_PER_TOKEN
        return [round(each * scale) for each in sizes]

    def _replay(self) -> None:
        self._clear()
        for each in self._history:
            if isinstance(each, tuple):
                if not each[1].get("undoes"):
                    self._shorten(*each)
            else:
                self._enter(each)

    def _enter(self, entry: _Entry) -> None:
        if entry.part == "prefix":
            self._totals["prefix"] = entry.size
            return
        self._entries.append(_Entry(entry.place, entry.part, entry.size))
        self._totals[entry.part] += entry.size

    def _shorten(self, place: int, event: Mapping[str, Any]) -> None:
        if str(event.get("id")) in self._undone:
            return
        masked = event.get("masked")
        for name, text in masked.items() if isinstance(masked, dict) else ():
            at = bisect_left(self._entries, parse_place(name), key=_get_place)
            if at < len(self._entries) and self._entries[at].place == parse_place(name):
                self._replace(at, at + 1, len(str(text).encode("utf-8", "replace")) or MASKED_BYTES)
        folds = event.get("folds")
        for fold in folds if isinstance(folds, list) else ():
            if not isinstance(fold, dict):
                continue
            start = bisect_left(self._entries, parse_place(fold.get("first")), key=_get_place)
            end = bisect_right(self._entries, parse_place(fold.get("last")), key=_get_place)
            self._replace(start, end, len(str(fold.get("text", "")).encode("utf-8", "replace")))

    def _replace(self, start: int, end: int, size: int) -> None:
        """Let a text of this size stand for a run of entries; people's words in it stay."""
        run = self._entries[start:end]
        if not run:
            return
        for each in run:
            if each.part != "words":
                self._totals[each.part] -= each.size
        self._totals["shortened"] += size
        words = [each for each in run if each.part == "words"]
        self._entries[start:end] = sorted([*words, _Entry(run[0].place, "shortened", size)], key=_get_place)


def parse_place(name: object) -> int:
    """Return the place of an event in its log from its id, 0 for what is none."""
    digits = str(name)[1:]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 12 else 0


def _get_place(entry: _Entry | tuple[int, Mapping[str, Any]]) -> int:
    return entry[0] if isinstance(entry, tuple) else entry.place
