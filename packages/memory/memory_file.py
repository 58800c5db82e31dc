"""Memory as a file: exported as JSON lines, imported as what somebody else claims."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar, get_args

from agent.memory.memory_store import MemoryStore
from agent.memory.records import Case, Check, CheckKind, FailedCommand, KnownCommand, Lesson, LessonKind
from packages.memory.lessons.claims import find_problem
from sandbox.errors import Fault, UserError
from sandbox.lazy_pattern import compile_lazily
from sandbox.parsed_data import parse_json
from sandbox.sanitize import sanitize_json

FORMAT = 1

_MOST_RECORDS, _MOST_TEXT = 50_000, 4_000

_MOST_NUMBER = 1e11
"""Of counts, and of seconds since the epoch: larger ones are no date, and do not fit into the store."""

_NUMERIC = compile_lazily("int|float")

_Record = TypeVar("_Record", Case, Lesson, Check, KnownCommand, FailedCommand)


def export_memory(store: MemoryStore) -> Iterator[str]:
    """Yield the lines of an export: a head, then one record a line. All texts were redacted when they were stored."""
    yield json.dumps({"patchwright_memory": FORMAT})
    for lesson in store.list_lessons():
        yield sanitize_json(json.dumps({"lesson": asdict(lesson)}, ensure_ascii=False))
    for case in store.list_cases():
        yield sanitize_json(json.dumps({"case": asdict(case)}, ensure_ascii=False))


def import_memory(lines: Iterable[bytes], store: MemoryStore) -> tuple[int, int, list[str]]:
    """Store the records of an export; return how many lessons and cases, and why others were left out.

    Whoever wrote the file is not the person here: its lessons are claims without a standing, none of them counts as the
    person's words, and the rules for claims hold (`find_problem`). Raises UserError if it is no export.
    """
    lessons: list[Lesson] = []
    cases: list[Case] = []
    for number, line in enumerate(lines, 1):
        try:
            found = parse_json(line)
            if number == 1:
                if found["patchwright_memory"] != FORMAT:
                    raise ValueError(f"format {found['patchwright_memory']!r}")
            elif "lesson" in found:
                lessons.append(_read_lesson(found["lesson"]))
            else:
                cases.append(_read_case(found["case"]))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            reason = str(error).partition("\n")[0][:100]
            hint = "Make one: patchwright memory export FILE"
            raise UserError(
                Fault.USAGE, f"line {number} is not of an export of the memory: {reason}", hint
            ) from None
        if number > _MOST_RECORDS:
            raise UserError(Fault.USAGE, f"more than {_MOST_RECORDS:,} records", "Import fewer.")
    known = {each.id for each in store.list_lessons(replaced=True)}
    problems = {each.id: find_problem(each) for each in lessons if each.id not in known}
    new = [each for each in lessons if problems.get(each.id) == ""]
    store.put_lessons(new)
    if cases:
        store.add_cases(cases)
    return len(new), len(cases), [f"{name}: {problem}" for name, problem in problems.items() if problem]


def _read_lesson(values: Mapping[str, Any]) -> Lesson:
    checks = tuple(_build(Check, each) for each in values.get("checks", ()))
    lesson = _build(Lesson, {**values, "checks": checks})
    if odd := next((each.kind for each in checks if each.kind not in get_args(CheckKind)), ""):
        raise ValueError(f"a check is {odd[:20]!r}")
    if lesson.kind not in get_args(LessonKind):
        raise ValueError(f"kind is {lesson.kind[:20]!r}")
    now = time.time()  # what was confirmed in the future would not fade
    seen = min(lesson.seen or now, now)
    return replace(lesson, origin="import", good=0, bad=0, misses=0, replaced_by="", seen=seen)


def _read_case(values: Mapping[str, Any]) -> Case:
    parts = {
        "id": 0,
        "places": tuple(_read_text(each) for each in values.get("places", ())),
        "names": tuple(_read_text(each) for each in values.get("names", ())),
        "commands": tuple(_build(KnownCommand, each) for each in values.get("commands", ())),
        "failures": tuple(_build(FailedCommand, each) for each in values.get("failures", ())),
    }
    return _build(Case, {**values, **parts})


def _build(cls: type[_Record], values: Mapping[str, Any]) -> _Record:
    """Return a record with the fields that it has. Raises ValueError or TypeError for values that do not fit."""
    wanted = {each.name: each.type for each in fields(cls)}
    given = {name: value for name, value in values.items() if name in wanted}
    for name, value in given.items():
        if isinstance(value, str):
            given[name] = _read_text(value)
        elif not isinstance(value, tuple) and not _is_number(value, str(wanted[name])):
            raise ValueError(f"{name} is {type(value).__name__}")
    return cls(**given)


def _is_number(value: object, wanted: str) -> bool:
    if isinstance(value, bool):
        return False
    if value is None:
        return "None" in wanted
    return (
        isinstance(value, int | float) and _NUMERIC.search(wanted) is not None and abs(value) < _MOST_NUMBER
    )


def _read_text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _MOST_TEXT:
        raise ValueError("a text is missing, or too long")
    return value
