"""Successive changes, expressed as edits of the original text."""

from __future__ import annotations

from collections.abc import Iterable

from packages.offline.repair.templates import Change
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replace the characters start…end of a file by `text`."""

    path: str
    start: int
    end: int
    text: str

    @property
    def growth(self) -> int:
        return len(self.text) - (self.end - self.start)


def compose_edits(changes: Iterable[tuple[str, str, Change]]) -> list[Edit]:
    """Return edits equivalent to the changes, sorted by place; none overlaps or touches another.

    changes: path, the file's text after the previous changes, and the change to that text
    """
    files: dict[str, list[Edit]] = {}
    for path, text, change in changes:
        files[path] = _add_change(files.get(path, []), path, text, change)
    return [edit for path in sorted(files) for edit in files[path]]


def _add_change(edits: list[Edit], path: str, text: str, change: Change) -> list[Edit]:
    """Return the edits with one more; those that it touches are merged with it."""
    before: list[Edit] = []
    after: list[Edit] = []
    low, high = change.start, change.end
    shift = first_shift = last_shift = 0
    for edit in edits:
        start, end = edit.start + shift, edit.start + shift + len(edit.text)
        shift += edit.growth
        if end < change.start:
            before.append(edit)
            first_shift = last_shift = shift
        elif start > change.end:
            after.append(edit)
        else:
            low, high, last_shift = min(low, start), max(high, end), shift
    whole = text[low : change.start] + change.text + text[change.end : high]
    one = Edit(path=path, start=low - first_shift, end=high - last_shift, text=whole)
    return [*before, one, *after]
