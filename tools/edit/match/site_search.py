"""Search for the places of an edit: exact ones, then the matchers from strict to lenient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tools.edit.edit_model import Hunk, Replace
from tools.edit.formats.placeholders import is_omission
from tools.edit.match import exact_match
from tools.edit.match.anchors import find_anchored_sites
from tools.edit.match.elision import find_elided_sites
from tools.edit.match.hunk_scope import find_scopes
from tools.edit.match.matchers import (
    STEPS,
    Rung,
    Site,
    Source,
    find_sites,
    has_distinctive_word,
    is_distinctive,
)
from tools.edit.parse.readings import NUMBERED, UNMARKED, reading_to_hunk
from tools.edit.stage_values import Match, Parsed, Reading, Scopes

MAX_COMPARED = 5
"""Places whose results are compared: if the results are equal (one of two equal lines is removed), the edit is
unambiguous.
"""

VERSION = 0.6
"""Similarity from which one line is a version of the other."""

Written = Sequence[tuple[int, int]]
"""Parts of the text that earlier edits made."""


def find_match(source: Source, parsed: Parsed, written: Written) -> Match | None:
    """Return the places of the first reading that has any, at the strictest rung; None if none has.

    written: other places are preferred, since the model saw the text before these edits
    """
    if isinstance(parsed.edit, Hunk):
        scopes = _find_hunk_scopes(source, parsed.edit)
        found = _find_exact_lines(source, parsed.edit, parsed.readings[0], scopes)
        return found or (_find_tolerant(source, parsed, scopes) if parsed.is_tolerant else None)
    found = _find_exact_text(source, parsed.edit, parsed.readings, written)
    if found is None and parsed.is_tolerant:
        found = _find_tolerant(source, parsed, None)
    if found is None and parsed.edit.whole_lines and not (parsed.strictest or parsed.replaces_all):
        found = _find_part_of_line(source, parsed.edit)
    return found


def filter_sites(source: Source, hunk: Hunk, scopes: Scopes | None, sites: Sequence[Site]) -> list[Site]:
    """Return the sites that are where the hunk says: below its heads, at the end of the file."""
    kept = list(sites)
    if scopes is not None:
        kept = [site for site in kept if any(first <= site.first < end for first, end in scopes)]
    if hunk.no_newline in ("-", " "):
        # its old lines are stated to be the last
        kept = [site for site in kept if site.end == len(source.lines)]
    if hunk.at_end and len(kept) > 1:
        kept = [site for site in kept if not any(line.strip() for line in source.lines[site.end :])]
    return kept


def judge_trailing_space(
    source: Source, start: int, old: str, new: str
) -> Literal["none", "left", "unclear"]:
    """Return how the white space behind whole lines, which `old` lacks at its end, bears on the edit.

    none: there is none, or it stays with its line. left: the last line is removed, or stays with other lines
    after it: literally replaced, the white space would remain alone, or after another line. unclear: the last
    line is replaced by another, which may end the same. A version of a single line is a change within it.
    """
    behind = source.behind(start + len(old))
    if not behind.isspace() or source.before(start).strip() or old.endswith("\n") or new.endswith(behind):
        return "none"
    (*others, last), lines = old.split("\n"), new.split("\n")
    if new and any(
        sum(line.strip() == last.strip() for line in each) > 1 for each in ((*others, last), lines)
    ):
        return "left"  # which of them stays is not stated
    if lines[-1].strip() == last.strip() or (not others and len(lines) == 1 and _is_version(last, new)):
        return "none"
    return "left" if not new or last.strip() in map(str.strip, lines) else "unclear"


def _is_version(line: str, other: str) -> bool:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, line.strip(), other.strip(), autojunk=False).ratio() > VERSION


def _find_hunk_scopes(source: Source, hunk: Hunk) -> Scopes | None:
    """Return the scopes of the hunk's heads. Lines that occur only once need no head: one that is absent is
    ignored.
    """
    return find_scopes(source, hunk.heads) or None


def _find_exact_lines(source: Source, hunk: Hunk, reading: Reading, scopes: Scopes | None) -> Match | None:
    everywhere = [
        Site.of_lines(row, len(hunk.old)) for row in exact_match.find_whole_lines(source.text, hunk.old)
    ]
    # not where the head says: then only lines that occur just once can be meant
    sites = filter_sites(source, hunk, scopes, everywhere) or everywhere
    if stated := [site for site in sites if hunk.counted and hunk.start == site.first + 1]:
        sites = stated  # the diff knows its file: its counts are right, and its lines are where it says
    if not sites:
        return None
    return Match(
        rung=Rung.EXACT, step=STEPS[0], reading=reading, hunk=hunk, sites=tuple(sites), scopes=scopes
    )


def _find_exact_text(
    source: Source, edit: Replace, readings: Sequence[Reading], written: Written
) -> Match | None:
    for reading in readings:
        starts = _list_exact_starts(source, edit, reading, written)
        if starts and edit.all:
            starts = exact_match.select_disjoint(starts, len(reading.old))
        elif starts:
            starts = _merge_equal_places(source, starts, reading)
            if len(starts) == 1 and is_distinctive(reading.old):
                space = judge_trailing_space(source, starts[0], reading.old, reading.new)
                starts = [] if space == "left" else starts  # whole lines at the rung of trailing space
        if starts:
            return Match(
                rung=Rung.EXACT,
                reading=reading,
                hunk=reading_to_hunk(reading),
                starts=tuple(starts),
                whole_lines=edit.whole_lines,
                apart=edit.all,
            )
    return None


def _list_exact_starts(source: Source, edit: Replace, reading: Reading, written: Written) -> list[int]:
    old = reading.old
    if edit.whole_lines:
        rows = exact_match.find_whole_lines(source.text, reading_to_hunk(reading).old)
        starts = [source.offset(row) for row in rows]
    else:
        starts = exact_match.find_occurrences(source.text, old)
    if NUMBERED in reading.note or UNMARKED in reading.note:  # lines with such marks are whole ones
        starts = [start for start in starts if not source.before(start).strip()]
    free = [s for s in starts if not any(s < end and first < s + len(old) for first, end in written)]
    starts = free or starts
    if edit.all:
        return starts
    if any(_is_first_line_deeper(source, start, old) for start in starts):
        # as whole lines they may still occur once
        starts = [start for start in starts if source.is_whole_lines(start, old)]
    return [start for start in starts if not _is_other_line(source, start, old)]


def _is_first_line_deeper(source: Source, start: int, old: str) -> bool:
    """Return whether `old` is whole lines whose first one is deeper in the file than given: similar, not
    equal. A place at another depth is then as good, and only the matched lines show how deep `new` belongs.
    """
    before = source.before(start)
    if old[0] == "\n":  # a blank line is meant, not the end of the line before
        return bool(before) and bool(old.strip("\n"))
    return bool(before) and old[0] in " \t" and source.is_line_rest(start, old)


def _is_other_line(source: Source, start: int, old: str) -> bool:
    """Return whether indented brackets alone match the beginning of a deeper line that continues: that line
    has them too, but is not the given one.
    """
    indented = source.before(start).isspace() and old[:1].isspace()
    return indented and bool(source.behind(start + len(old)).strip()) and not has_distinctive_word(old)


def _merge_equal_places(source: Source, starts: list[int], reading: Reading) -> list[int]:
    """Return one of several places if the results are equal, whole lines first."""
    end = len(reading.old)
    results = {
        source.text[:start] + reading.new + source.text[start + end :]
        for start in (starts[:MAX_COMPARED] if len(starts) > 1 else ())
    }
    if len(results) > 1 or len(starts) > MAX_COMPARED:
        return starts
    return [next((each for each in starts if source.is_whole_lines(each, reading.old)), starts[0])]


def _find_part_of_line(source: Source, edit: Replace) -> Match | None:
    """Find a block's single line as a part of the only line that contains it. None if that would leave only
    white space around it.
    """
    old, new = edit.old.removesuffix("\n"), edit.new.removesuffix("\n")
    starts = exact_match.find_occurrences(source.text, old) if "\n" not in old else []
    if len(starts) != 1 or "\n" in new or (edit.new and not new):
        return None
    if (
        _is_first_line_deeper(source, starts[0], old)
        or judge_trailing_space(source, starts[0], old, new) == "left"
    ):
        return None
    reading = Reading(old=old, new=new, note="taken as a part of a line")
    hunk = reading_to_hunk(reading)
    return Match(rung=Rung.EXACT, reading=reading, hunk=hunk, starts=tuple(starts), is_part=True)


def _find_tolerant(source: Source, parsed: Parsed, scopes: Scopes | None) -> Match | None:
    """Return the first sites below the exact rung: each comparison is tried on every reading."""
    options = [(reading, reading_to_hunk(reading)) for reading in parsed.readings]
    for rung, step in (
        *((step.rung, step) for step in STEPS[1:]),
        (Rung.ELISION, None),
        (Rung.ANCHORS, None),
    ):
        for reading, hunk in options:
            found = find_sites(source, hunk.old, step) if step else _find_approximate(source, hunk, rung)
            if sites := filter_sites(source, hunk, scopes, found):
                return Match(
                    rung=rung, step=step, reading=reading, hunk=hunk, sites=tuple(sites), scopes=scopes
                )
    return None


def _find_approximate(source: Source, hunk: Hunk, rung: Rung) -> list[Site]:
    if rung is Rung.ANCHORS:
        removed = [line.op == "-" for line in hunk.lines if line.op != "+"]
        return find_anchored_sites(source, hunk.old, removed)
    has_omission = any(is_omission(line) for line in hunk.old)
    return find_elided_sites(source, hunk.old)[1] if has_omission else []
