"""Possible readings of `old` and `new` when they do not occur in the file as given."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator

from tools.edit.edit_model import Hunk, Replace
from tools.edit.formats.cleanup import (
    is_numbered,
    strip_diff_marks,
    strip_fences,
    strip_line_numbers,
    undo_escapes,
)
from tools.edit.hunk_diff import diff_lines
from tools.edit.stage_values import Reading

NUMBERED, UNMARKED = "line numbers removed", "diff marks removed"
"""Beginnings of the notes for removed line numbers and diff marks."""

OLD_FENCED = "fence removed from `old`"
"""Note for a fence around `old` only."""


def generate_readings(edit: Replace) -> Iterator[Reading]:
    """Yield the edit as given, then with each kind of wrapping removed, without duplicates."""
    seen = {(edit.old, edit.new)}
    yield Reading(old=edit.old, new=edit.new)
    todo = [Reading(old=edit.old, new=edit.new)]
    while todo:
        reading = todo.pop(0)
        for note, undo in _WRAPPINGS:
            if note in reading.note:
                continue
            old = undo(reading.old)
            if old is None or not old.strip():
                continue
            new = undo(reading.new)
            if undo is strip_line_numbers and is_numbered(reading.new):
                old = strip_line_numbers(reading.old, reading.new)
                new = strip_line_numbers(reading.new, reading.old)
            elif undo is strip_numbers_keeping_space and is_numbered(reading.new):
                new = strip_numbers_keeping_space(reading.new, reading.old)
            if old is None or (new is None and undo in _NUMBERS and is_numbered(reading.new)):
                continue  # numbers that stay in one of the texts were not understood
            if new == "" and _is_blank_line_left(undo, reading.new):
                ended = (old if undo is _strip_fence_lines else reading.old).endswith("\n")
                old, new = old if ended else f"{old}\n", "\n"
            if new is None and undo is _strip_fence_lines and reading.new:
                new, note = reading.new.removesuffix("\n") + "\n", OLD_FENCED
            notes = f"{reading.note}, {note}" if reading.note else note
            found = Reading(old=old, new=reading.new if new is None else new, note=notes)
            if (found.old, found.new) not in seen:
                seen.add((found.old, found.new))
                yield found
                todo.append(found)


def reading_to_hunk(reading: Reading) -> Hunk:
    """Return the lines of a reading; those of both its texts are context."""
    if reading.marked is not None:
        return reading.marked
    return Hunk(lines=tuple(diff_lines(*split_reading(reading, literal=False))), given=False)


def split_reading(reading: Reading, *, literal: bool) -> tuple[list[str], list[str]]:
    """Split both texts into lines. literal: a newline that only `old` ends with is intended, not a slip."""
    old, new = reading.old, reading.new
    if literal and old.endswith("\n") and new and not new.endswith("\n"):
        return old.split("\n"), new.split("\n")
    if old.endswith("\n"):
        return old[:-1].split("\n"), new.removesuffix("\n").split("\n") if new else []
    return old.split("\n"), new.split("\n") if new else []


def _strip_fence_lines(text: str) -> str | None:
    """Strip fences; a fence holds whole lines."""
    inside = strip_fences(text)
    if inside is None or not inside:
        return inside
    return inside if text.endswith("\n") else f"{inside}\n"


def _is_blank_line_left(undo: Callable[[str], str | None], wrapped: str) -> bool:
    """Return whether an unwrapped text is one blank line rather than empty: "  56: ", or within a fence."""
    if undo is _strip_fence_lines:
        return wrapped.strip("\n").count("\n") > 1
    return undo in _NUMBERS


def strip_numbers_keeping_space(text: str, like: str = "") -> str | None:
    """Strip line numbers but keep the space after "12|": only the file shows whether it belongs to the line.

    like: another text with such numbers; then one of them is enough
    """
    plain = strip_line_numbers(text, like)
    if plain is None:
        return None
    kept = []
    for line, given in zip(plain.split("\n"), text.split("\n"), strict=True):
        spaced = given != line and given.endswith((f"| {line}", f": {line}"))
        if line.strip() and given != line and not spaced:
            return None
        kept.append(f" {line}" if spaced else line)
    return "\n".join(kept)


def _unescape_html_entities(text: str) -> str | None:
    plain = html.unescape(text)
    return plain if plain != text else None


_NUMBERS = (strip_line_numbers, strip_numbers_keeping_space)

_WRAPPINGS: tuple[tuple[str, Callable[[str], str | None]], ...] = (
    ("fence removed", _strip_fence_lines),
    (NUMBERED, strip_line_numbers),
    (f"{NUMBERED}, their space kept", strip_numbers_keeping_space),
    ("escapes undone", undo_escapes),
    (UNMARKED, strip_diff_marks),
    ("HTML entities undone", _unescape_html_entities),
)
"""Wrappings that models leave in a copied text: note and function to remove each."""
