"""Lessons from other agents' notes: claims of somebody else, whose standing outcomes here will decide."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from agent.memory.command_purposes import find_purpose
from agent.memory.memory_store import MemoryStore
from agent.memory.records import Check, Lesson
from agent.prompt.prompt_text import find_paths
from packages.memory.lessons.claims import MOST_CLAIM, find_problem, is_plain, make_lesson_id
from packages.memory.lessons.corrections import is_standing_wish
from packages.memory.lessons.run_lessons import WORTH
from packages.memory.notes.foreign_notes import Note
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_MOST_NOTES = 300

_MARKUP = compile_lazily(r"\*\*|\s*\[Task \d+\](?:\[Task \d+\])*|\[\[|\]\]")

_LINK = compile_lazily(r"\[([^\]]*)\]\([^)\s]*\)")

_CODE = compile_lazily(r"`([^`\n]{2,120})`")

_AGAINST = compile_lazily(
    r"\b(?:not|never|don't|doesn't|avoid|fails?|failed|broken|instead|rather|without|except|unless)\b",
    re.IGNORECASE,
)
"""Words by which a sentence that names a command may be against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedNotes:
    """Counts of an import. problems: why notes were left out, each reason once"""

    new: int
    known: int
    gone: int
    left: int
    problems: tuple[str, ...]


def import_notes(notes: Iterable[Note], store: MemoryStore, root: Path) -> ImportedNotes:
    """Store notes as claims. Those of an earlier import of the same files that are not there any more are forgotten."""
    found: dict[str, Lesson] = {}
    problems: dict[str, None] = {}
    read: set[str] = set()
    left = 0
    for number, note in enumerate(notes):
        lesson = _build_lesson(note, root)
        problem = f"more than {_MOST_NOTES} notes" if number >= _MOST_NOTES else find_problem(lesson)
        if problem:
            left += 1
            problems[problem] = None
        else:
            found.setdefault(lesson.id, lesson)
            read |= {note.source, note.folder or note.source}
    known = store.list_lessons(replaced=True)
    present = {each.id for each in known}
    gone = [
        each.id
        for each in known
        if each.origin == "import"
        and read & {each.event, each.event.rpartition("/")[0]}
        and each.id not in found
    ]
    if gone:
        store.forget(lessons=gone)
    new = [each for each in found.values() if each.id not in present]
    store.put_lessons(new)
    return ImportedNotes(
        new=len(new), known=len(found) - len(new), gone=len(gone), left=left, problems=tuple(problems)
    )


def _build_lesson(note: Note, root: Path) -> Lesson:
    """Return the lesson of a note: a command, if it says no more than what one is for; a wish; else a note."""
    claim = _shorten(" ".join(_MARKUP.sub("", _LINK.sub(r"\1", note.text)).split()))
    code = _CODE.findall(claim)
    command = code[0] if len(code) == 1 and is_plain(code[0]) and not _AGAINST.search(claim) else ""
    purpose = find_purpose(command) if command else ""
    now = time.time()
    checks = tuple(Check(kind="file", value=each) for each in _list_files(claim, root))
    if purpose in WORTH:
        return Lesson(
            id=make_lesson_id("imported", claim), kind="command", claim=claim, use=command, purpose=purpose,
            tool="shell", origin="import", event=note.source, checks=checks, created=now, seen=now,
        )  # fmt: skip
    return Lesson(
        id=make_lesson_id("imported", claim), kind="correction" if is_standing_wish(claim) else "note", claim=claim,
        origin="import", event=note.source, checks=checks, created=now, seen=now,
    )  # fmt: skip


def _list_files(claim: str, root: Path) -> Iterator[str]:
    """Yield the files that a claim names and that are there now: once they are gone, so is the claim."""
    for each in find_paths(claim):
        if not each.startswith(("/", "~")) and ".." not in each.split("/") and (root / each).is_file():
            yield each


def _shorten(claim: str) -> str:
    """Return the sentences at the beginning of a claim that fit."""
    if len(claim) <= MOST_CLAIM:
        return claim
    end = max(claim.rfind(each, 0, MOST_CLAIM) for each in (". ", "; ", "! ", "? "))
    return claim[: end + 1].rstrip(" ;") if end > 40 else f"{claim[: MOST_CLAIM - 1].rpartition(' ')[0]}…"
