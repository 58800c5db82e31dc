"""Use of learned skills: counted by the turns that read or ran one, and what of them is due for another check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from agent.memory.lesson_checks import is_there
from agent.memory.records import Lesson
from agent.memory.standing import MOST_MISSES
from packages.memory.turn_record import TurnRecord


def list_skill_records(lessons: Iterable[Lesson]) -> list[Lesson]:
    """Return the records of learned skills; one of an import was replayed by nobody here."""
    return [each for each in lessons if each.kind == "skill" and each.origin == "code"]


def is_retired(skill: Lesson) -> bool:
    """Whether the last replay of a skill failed."""
    return skill.misses >= MOST_MISSES


def list_changed_files(skill: Lesson, root: Path) -> list[str]:
    """Return the files that a skill depends on and that are not as they were when it was replayed."""
    return [each.value.rpartition(":")[0] for each in skill.checks if not is_there(each, root)]


def count_skill_uses(record: TurnRecord, known: Iterable[Lesson]) -> dict[str, tuple[Lesson, str]]:
    """Return the learned skills that a turn used, by id, with the use counted by its outcome, each with why."""
    found = {}
    for each in list_skill_records(known):
        if why := _find_use(record, each):
            good, bad = each.good + record.is_good, each.bad + (not record.is_good)
            found[each.id] = replace(each, good=good, bad=bad), why
    return found


def _find_use(record: TurnRecord, skill: Lesson) -> str:
    """Return how a turn used a skill, as a clause; "" if it did not."""
    if any(f"{skill.path}/scripts/" in each.line for each in record.commands):
        return "its script was run"
    if skill.path.rpartition("/")[2] in record.skills:
        return "its instructions were read"
    if f"Folder of this skill: {skill.path}\n" in f"{record.prompt.text}\n":
        return "the person called it"
    return ""


def list_due_lines(record: TurnRecord, known: Iterable[Lesson], root: Path) -> Iterator[str]:
    """Yield a line for each skill that depends on a file which the turn changed."""
    for each in list_skill_records(known):
        changed = [path for path in list_changed_files(each, root) if path in record.changed]
        if changed and not is_retired(each):
            name = each.path.rpartition("/")[2]
            yield f"{changed[0]} changed, on which the skill {name} depends; check it: patchwright memory skills"
