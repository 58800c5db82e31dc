"""Admission of new lessons, and outcomes of old ones: merged, in conflict, confirmed, contradicted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agent.memory.records import Lesson
from packages.memory.turn_record import TurnRecord

MOST_GOOD = 8
"""Good outcomes that count: with more, a lesson that has become wrong would keep its weight too long."""


def admit_lessons(new: Iterable[Lesson], known: Sequence[Lesson]) -> list[Lesson]:
    """Return the lessons to store: new ones, known ones that were found again, and those that lose their place."""
    by_id = {each.id: each for each in known}
    changed: dict[str, Lesson] = {}
    for lesson in new:
        present = changed.get(lesson.id) or by_id.get(lesson.id)
        merged = lesson
        if present is not None and present.origin == lesson.origin:  # else somebody claims to be this one
            good = min(present.good + 1, MOST_GOOD)
            merged = replace(
                present, seen=max(present.seen, lesson.seen), good=good, misses=0, replaced_by=""
            )
        changed[lesson.id] = merged
        for other in {**by_id, **changed}.values():
            if other.id != lesson.id and not other.replaced_by and contradicts(merged, other):
                changed[other.id] = replace(other, replaced_by=lesson.id)
    return list(changed.values())


def contradicts(newer: Lesson, older: Lesson) -> bool:
    """Whether both cannot hold, so that the newer one takes the place of the older one."""
    if newer.origin != "person" and older.origin == "person":
        return False  # what was seen does not outvote what is wanted
    if newer.kind == "contrast" and older.use:
        return newer.avoid == older.use
    if newer.kind == "correction" and older.kind == "correction":
        swapped = bool(newer.avoid) and newer.avoid.casefold() == older.use.partition(" ")[0].casefold()
        return swapped or _is_reversed(newer.claim, older.claim)
    return False


def _is_reversed(newer: str, older: str) -> bool:
    """Whether one says "always" and the other "never" of the same thing."""
    first, second = _read_sign(newer), _read_sign(older)
    return first[0] != second[0] and "" not in (first[0], second[0]) and first[1] == second[1]


def _read_sign(claim: str) -> tuple[str, str]:
    found = re.search(r"\b(always|never)\b", claim.casefold())
    if found is None:
        return "", claim
    return found[0], " ".join(re.findall(r"\w+", claim.casefold().replace(found[0], "", 1)))


def apply_outcomes(
    record: TurnRecord, shown: Mapping[str, str], known: Sequence[Lesson]
) -> dict[str, Lesson]:
    """Return the lessons whose standing a turn changes, by id. shown: those that the model was shown

    A command that was run speaks for or against each lesson that recommends it. Claims that no run can settle are moved
    by the turn's end, if they were shown.
    """
    results = read_results(record)
    changed = {}
    for lesson in known:
        if lesson.use in results and lesson.kind in ("command", "contrast"):
            holds: bool | None = results[lesson.use]
        elif lesson.id in shown and lesson.origin in ("import", "repository"):
            holds = record.is_good
        else:
            holds = None
        if holds is None:
            continue
        now = record.end.time if record.end is not None else lesson.seen
        if holds:
            good = min(lesson.good + 1, MOST_GOOD)
            changed[lesson.id] = replace(lesson, good=good, misses=0, seen=max(now, lesson.seen))
        else:
            changed[lesson.id] = replace(lesson, bad=lesson.bad + 1, misses=lesson.misses + 1)
    return changed


def read_results(record: TurnRecord) -> dict[str, bool]:
    """Return whether each command works here, by its line: the last run counts; failing tests are no failure of it."""
    return {
        each.line: each.cause is None for each in record.commands if each.cause is None or each.cause.is_wrong
    }
