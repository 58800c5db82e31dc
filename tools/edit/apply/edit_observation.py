"""Observation of an edit call: which rung matched, and the lines around each change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tools.core.action import Observation
from tools.core.text import format_count, number_lines
from tools.edit.apply.change_writer import AppliedChange
from tools.edit.apply.edit_engine import Place
from tools.edit.match.matchers import Rung

CONTEXT = 3
"""Lines shown around a change: enough to see whether it is at the intended place."""

MAX_SHOWN = 4
"""Changed places of a file that are shown with their context."""

MAX_LINES = 60
"""Lines shown of one place: the model has just written them."""

MAX_FILES = 10
"""Files whose places are shown; each further file gets one line."""

_PLAIN = (Rung.EXACT, Rung.POSITION, Rung.SYMBOL)


def build_observation(tool: str, changes: Sequence[AppliedChange]) -> Observation:
    """Build one observation for all files of a call."""
    lines: list[str] = []
    made = [each for each in changes if each.planned.has_changes]
    if len(changes) > 1 and not made:
        lines.append(f"{tool}: no change: all of it is so already")
    elif len(changes) > 1:
        added, removed = sum(each.added for each in made), sum(each.removed for each in made)
        lines.append(f"{tool}: {format_count(len(made), 'file')} changed (+{added} −{removed})")
    for number, change in enumerate(changes):
        head = summarize_change(change)
        lines.append(head if len(changes) > 1 else f"{tool}: {head}")
        lines += change.notes
        if number < MAX_FILES and change.planned.after is not None:
            lines += _format_places(change.planned.places, change.planned.new_text)
    if len(changes) == 1:
        return Observation(text="\n".join(lines), data=changes[0].as_data())
    return Observation(text="\n".join(lines), data=_merge_data(made))


def _merge_data(made: Sequence[AppliedChange]) -> dict[str, Any]:
    rungs = [place.rung.value for each in made for place in each.planned.places]
    return {
        "files": [each.path for each in made],
        "diff": "".join(each.diff for each in made),
        "rungs": rungs,
    }


def summarize_change(change: AppliedChange) -> str:
    """Summarize the change of one file in a line."""
    planned = change.planned
    counts = f"(+{change.added} −{change.removed})"
    if planned.after is None:
        return f"{planned.path}: removed"
    if planned.source:
        return f"{planned.path}: moved here from {planned.source} {counts}"
    if planned.before is None:
        return f"{planned.path}: created {counts}"
    if not planned.has_changes:
        return f"{planned.path}: no change: {change.made_before or 'it already has this content'}"
    if not planned.places:
        return f"{planned.path}: replaced {counts}"
    places = format_count(len(planned.places), "place")
    return f"{planned.path}: changed {places} {counts}{_format_match_notes(planned.places)}"


def _format_match_notes(places: Sequence[Place]) -> str:
    """Format the rungs that were not plain, and the corrections to the given text."""
    rungs = list(dict.fromkeys(place.rung.value for place in places if place.rung not in _PLAIN))
    notes = list(dict.fromkeys(place.note for place in places if place.note))
    words = [f"matched by {', '.join(rungs)}"] if rungs else []
    return f"; {'; '.join([*words, *notes])}" if words or notes else ""


def _format_places(places: Sequence[Place], text: str) -> Iterator[str]:
    lines = text.removesuffix("\n").split("\n")
    shown_to = 0
    for place in sorted(places, key=lambda each: each.first)[:MAX_SHOWN]:
        first = max(place.first - CONTEXT, shown_to + 1, 1)
        last = min(max(place.last, place.first) + CONTEXT, len(lines), first + MAX_LINES)
        if last <= shown_to:
            continue
        if shown_to and first > shown_to + 1:
            yield "  …"
        yield from number_lines(lines[first - 1 : last], first)
        shown_to = last
    if len(places) > MAX_SHOWN:
        yield f"… and {len(places) - MAX_SHOWN} more places"
