"""Apply edits to one text, each at exactly one place, or refuse with the state of the file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

from sandbox.lazy_dataclass import dataclass
from tools.changes.file_versions import diff_sequences
from tools.edit.apply.line_endings import Origins, update_origins
from tools.edit.edit_model import Edit, Hunk, Lines, Replace
from tools.edit.match.matchers import Rung, Source
from tools.edit.pipeline import locate_edit
from tools.edit.refusal import EditRefused, format_overlap
from tools.edit.splicing import TextSplice, merge_splices
from tools.edit.stage_values import LocatedEdit

__all__ = ["EditRefused", "EditedText", "Place", "edit_text", "shift_places"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an edit was made. Lines count from 1, in the resulting text.

    edit: number of the edit, from 0
    first, last: the changed lines (last < first: lines were only removed, before line `first`)
    note: corrections made to the given text before it matched
    """

    edit: int
    rung: Rung
    first: int
    last: int
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedText:
    """A text after its edits, and the place of each; origins: source of each line's ending, if requested."""

    text: str
    places: tuple[Place, ...]
    origins: Origins | None = None


def edit_text(
    text: str,
    edits: Sequence[Edit],
    *,
    path: str = "",
    strictest: bool = False,
    origins: Origins | None = None,
) -> EditedText:
    """Apply every edit, in order, or none: raises EditRefused (its `edit` is the number of the failed one).

    text: with "\\n" for every line ending
    path: gives the language, for symbols and where only the syntax decides between two readings
    strictest: only the exact rung
    origins: origins of the text's lines, to compute those of the result
    """
    sections = {each.section for each in edits if isinstance(each, Hunk)}
    if len(sections) <= 1:
        return _edit_in_steps(text, edits, path, strictest, origins, by_section=False)
    # A program writes a later header of the same file for the text after the earlier ones. A model may do so, or give
    # all hunks for the text that it has read.
    counted = all(each.counted for each in edits if isinstance(each, Hunk))
    try:
        found = _edit_in_steps(text, edits, path, strictest, origins, by_section=counted)
        return _check_series(found) if counted else found
    except EditRefused as refusal:
        with suppress(EditRefused):
            found = _edit_in_steps(text, edits, path, strictest, origins, by_section=not counted)
            return _check_series(found) if counted else found
        raise refusal


def _check_series(edited: EditedText) -> EditedText:
    """Return the text, or raise EditRefused if a part of a series was taken for lines with other words: it belongs
    behind a part that comes later, or to another state of the file."""
    for place in edited.places:
        if place.rung is Rung.ANCHORS:
            refusal = EditRefused("its lines are not there after the parts before it: the order may be wrong")
            refusal.edit = place.edit
            raise refusal
    return edited


def _edit_in_steps(
    text: str, edits: Sequence[Edit], path: str, strictest: bool, origins: Origins | None, *, by_section: bool
) -> EditedText:
    places: list[Place] = []
    written: list[tuple[int, int]] = []
    position = 0
    while position < len(edits):
        count = _count_simultaneous_edits(edits, position, by_section=by_section)
        source = Source(text)
        found: list[tuple[int, LocatedEdit]] = []
        for number in range(position, position + count):
            if len(edits) > 1 and _is_no_op(edits[number]):
                continue
            try:
                found.append((number, locate_edit(source, edits[number], path, written, strictest=strictest)))
            except EditRefused as refusal:
                refusal.edit = number
                raise
        if origins is not None:
            origins = update_origins(origins, text, _collect_origin_splices(source, edits, found))
        text, places, written = _apply_splices(source, found, places, written)
        position += count
    return EditedText(text=text, places=tuple(places), origins=origins)


def _count_simultaneous_edits(edits: Sequence[Edit], position: int, *, by_section: bool) -> int:
    """Return how many edits from a position on refer to the same text: hunks of a diff do (of one section of it,
    `by_section`), others apply one by one.
    """
    count = 0
    section = _get_section(edits[position])
    for each in edits[position:]:
        if not isinstance(each, Hunk | Lines) or (by_section and _get_section(each) != section):
            break
        count += 1
    return max(count, 1)


def _get_section(edit: Edit) -> int:
    return edit.section if isinstance(edit, Hunk) else 0


def _is_no_op(edit: Edit) -> bool:
    """Return whether old and new are equal: alone a mistake to report, among others no reason to refuse
    these.
    """
    return isinstance(edit, Replace) and edit.old == edit.new


def _collect_origin_splices(
    source: Source, edits: Sequence[Edit], found: Sequence[tuple[int, LocatedEdit]]
) -> tuple[TextSplice, ...]:
    """Return the splices of one step, in order: those of a diff as marked, those of two texts merged into
    one, since two texts do not show which of two equal lines is removed.
    """
    parts: list[TextSplice] = []
    for number, each in found:
        if isinstance(edits[number], Replace) and not each.apart and len(each.splices) > 1:
            parts.append(merge_splices(source, each.splices))
        else:
            parts += each.splices
    return tuple(sorted(parts, key=lambda splice: (splice.start, splice.end)))


def _apply_splices(
    source: Source,
    found: Sequence[tuple[int, LocatedEdit]],
    places: Sequence[Place],
    written: Sequence[tuple[int, int]],
) -> tuple[str, list[Place], list[tuple[int, int]]]:
    """Return the text with all splices applied; earlier places and written ranges are shifted accordingly."""
    splices = sorted(
        ((splice, number) for number, each in found for splice in each.splices),
        key=lambda item: (item[0].start, item[0].end),
    )
    _refuse_overlaps(source, splices)
    text = source.text
    parts: list[str] = []
    end = 0
    for splice, _ in splices:
        parts += [text[end : splice.start], splice.new]
        end = splice.end
    after = "".join([*parts, text[end:]])
    only = [splice for splice, _ in splices]
    ranges = [_shift_range(only, start, end) for start, end in written]
    moved = [_shift_place(source, only, place) for place in places]
    made = dict(found)
    shift = 0
    spans: list[tuple[int, int, int]] = []
    for splice, number in splices:
        start, length = splice.start + shift, len(splice.new)
        ranges.append((start, start + length))
        shift += length - (splice.end - splice.start)
        if (
            not made[number].apart
            and (known := next((i for i, s in enumerate(spans) if s[0] == number), None)) is not None
        ):
            spans[known] = (number, spans[known][1], start + length)
        else:
            spans.append((number, start, start + length))
    counted = _LineCounter(after)
    for number, low, high in spans:
        first = counted.number_at(low)
        last = counted.number_at(max(high - 1, low)) if high > low else first - 1
        moved.append(
            Place(edit=number, rung=made[number].rung, first=first, last=last, note=made[number].note)
        )
    return after, sorted(moved, key=lambda place: place.edit), ranges


class _LineCounter:
    """Line numbers, from 1, of offsets requested in ascending order: the text is scanned once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._offset, self._line = 0, 1

    def number_at(self, offset: int) -> int:
        if offset < self._offset:
            return self._text.count("\n", 0, offset) + 1
        self._line += self._text.count("\n", self._offset, offset)
        self._offset = offset
        return self._line


def _refuse_overlaps(source: Source, splices: Sequence[tuple[TextSplice, int]]) -> None:
    for (one, first), (other, second) in pairwise(splices):
        if first != second and (other.start < one.end or (one.start, one.end) == (other.start, other.end)):
            refusal = EditRefused(format_overlap(source, one.start, first, second))
            refusal.edit = max(first, second)
            raise refusal


def _shift_range(splices: Sequence[TextSplice], start: int, end: int) -> tuple[int, int]:
    """Return a range of the old text in the new one, without the parts that were removed from it."""
    low = high = 0
    for splice in splices:
        growth = len(splice.new) - (splice.end - splice.start)
        if splice.end <= start:
            low += growth
        if splice.end <= end:
            high += growth
    return start + low, max(end + high, start + low)


def _shift_place(source: Source, splices: Sequence[TextSplice], place: Place) -> Place:
    lines = 0
    for splice in splices:
        if source.line_at(splice.start) + 1 < place.first:
            lines += splice.new.count("\n") - source.text.count("\n", splice.start, splice.end)
    return replace(place, first=place.first + lines, last=place.last + lines) if lines else place


def shift_places(places: Sequence[Place], before: str, after: str) -> list[Place]:
    """Return the places of earlier edits as lines of the text after later ones."""
    if not places:
        return []
    changes = diff_sequences(before.split("\n"), after.split("\n"))
    carried = []
    for place in places:
        shift = next((new - old for _, old, _, new in reversed(changes) if old < place.first), 0)
        carried.append(replace(place, first=place.first + shift, last=place.last + shift))
    return carried
