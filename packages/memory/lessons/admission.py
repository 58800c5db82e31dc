"""Admission of new lessons, and outcomes of old ones: merged, in conflict, confirmed, contradicted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agent.memory.case_search import list_words
from agent.memory.records import Lesson
from packages.memory.turn_record import TurnRecord
from sandbox.lazy_pattern import compile_lazily

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

    A command that was run speaks for or against each lesson that recommends it. One that is to test and ends well
    without a word shows only that it can be run, which is too little for what somebody else claims. Claims that no run
    can settle are moved by the turn's end, if they were shown; those of where something is by where the work was.
    """
    results = read_results(record)
    silent = {each.line for each in record.commands if each.purpose == "test" and each.is_silent}
    changed = {}
    for lesson in known:
        if lesson.use in results and lesson.kind in ("command", "contrast"):
            holds: bool | None = results[lesson.use] and not (
                lesson.use in silent and lesson.origin in ("import", "repository")
            )
        elif lesson.id in shown and lesson.origin in ("import", "repository"):
            holds = _judge_claim(record, lesson)
        else:
            holds = None
        if holds is None:
            continue
        now = record.end.time if record.end is not None else lesson.seen
        if holds:
            good = min(lesson.good + (lesson.use not in silent), MOST_GOOD)
            changed[lesson.id] = replace(lesson, good=good, misses=0, seen=max(now, lesson.seen))
        else:
            changed[lesson.id] = replace(lesson, bad=lesson.bad + 1, misses=lesson.misses + 1)
    return changed


def _judge_claim(record: TurnRecord, lesson: Lesson) -> bool | None:
    """Return what a turn says of a claim that no command settles, None for nothing."""
    end = record.end
    if end is None or end.outcome not in (*_SUCCESSES, *_FAILURES):
        return None
    places = {each.value for each in lesson.checks if each.kind == "file"} - {lesson.event}
    named = _PLACE.search(lesson.claim) if places and end.outcome in _SUCCESSES else None
    if named is not None:
        subject = set(list_words(lesson.claim[: named.start()]))
        if not subject or not subject <= set(list_words(record.prompt.text)):
            return None  # nobody asked for it
        if places & set(end.files):
            return True
        return False if end.files and places & set(record.read) else None  # it was read for nothing
    return None if end.outcome == _UNTESTED else record.is_good


def read_results(record: TurnRecord) -> dict[str, bool]:
    """Return whether each command works here, by its line: the last run counts; failing tests are no failure of it.

    One that is to run tests and shows no result does not work if it fails where another one did on the same files, or
    passes on files on which the suite fails.
    """
    results = {
        each.line: each.cause is None for each in record.commands if each.cause is None or each.cause.is_wrong
    }
    tests = [each for each in record.commands if each.purpose == "test"]
    for number, each in enumerate(tests):
        if each.shows_results:
            continue
        if each.cause is None:
            is_belied = each.writes in record.failed_suites
        else:
            later = (other for other in tests[number + 1 :] if other.writes == each.writes)
            is_belied = each.line not in results and any(other.cause is None for other in later)
        if is_belied:
            results[each.line] = False
    return results


_PLACE = compile_lazily(
    r"\b(?:is|are|lives?|found|defined|implemented|located|handled|computed|done|kept) (?:in|at|by|under|inside) ",
    re.IGNORECASE,
)
"""Words of a claim that says where something is."""

_UNTESTED = "no-test-runner"

_SUCCESSES, _FAILURES = ("done", _UNTESTED), ("tests-fail", "not-achieved", "limit")
"""Outcomes that may be a claim's merit or fault. Where somebody interrupts, or the model is out of reach, it is not."""
