"""Retrieval from the memory: which lessons and cases a prompt, or a failed command, needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.memory.case_search import find_similar_places, list_words
from agent.memory.command_purposes import find_purpose
from agent.memory.memory_store import MemoryStore
from agent.memory.recall_text import Recalled, recall_lesson
from agent.memory.records import Lesson
from agent.memory.standing import is_trusted, measure_weight
from agent.prompt.prompt_intent import ORDERS
from agent.prompt.prompt_reader import read_intent
from agent.prompt.prompt_text import remove_quoted_text
from sandbox.lazy_pattern import compile_lazily

_MOST_PLACES = 5

_LEAST_SHARED = 2
"""Words that a note shares with the prompt before it is shown: one alone is chance."""

_PLAIN_NAME = compile_lazily(r"[\w.+@/-]{1,120}")
"""A path without blanks and quotes: others could hold a sentence, such as one about what the person said."""


def list_trusted(store: MemoryStore, now: float | None = None) -> list[Lesson]:
    """Return the lessons that may be shown, the weightiest first."""
    found = [each for each in store.list_lessons() if is_trusted(each, now)]
    return sorted(found, key=lambda each: -measure_weight(each, now))


def recall_for_prompt(
    lessons: Sequence[Lesson], store: MemoryStore, prompt: str, known: str, root: Path
) -> Iterator[Recalled]:
    """Yield what a prompt needs, the most important first.

    known: what the model is told anyway: nothing of it is repeated
    """
    words = set(list_words(prompt))
    intent = read_intent(prompt)
    works = intent.kind in (*ORDERS, "task") or intent.wants_test_run
    for each in lessons:
        if each.claim in known or (each.use and each.kind == "command" and each.use in f"{known}\n{prompt}"):
            continue
        if why := _find_need(each, words, works=works):
            yield recall_lesson(each, why)
    if works:
        yield from recall_cases(store, remove_quoted_text(prompt), root)


def _find_need(lesson: Lesson, words: set[str], *, works: bool) -> str:
    """Return why a turn needs a lesson, as a clause; "" if it does not."""
    named = words & set(list_words(f"{lesson.claim} {lesson.path}"))
    match lesson.kind:
        case "command" | "contrast" | "tool-error":
            return "the task may need it" if works and lesson.purpose in ("test", "build", "lint") else ""
        case "correction":
            scoped = lesson.path or lesson.language
            if scoped and not named:
                return ""
            if not (works or named):
                return ""
            return (
                "it is a standing wish of the person"
                if lesson.origin == "person"
                else "it is said to hold always"
            )
        case "repair" | "skill":  # the engine chooses by the one; skills are offered by their own tool
            return ""
        case _:
            return f"the prompt has “{min(named)}”" if len(named) >= _LEAST_SHARED else ""


def recall_cases(store: MemoryStore, prompt: str, root: Path) -> Iterator[Recalled]:
    """Yield the files that similar earlier work changed, as far as they are still there. No text of a case is shown."""
    for place, why in find_similar_places(store, prompt):
        plain = (each for each in place if _PLAIN_NAME.fullmatch(each))
        there = [each for each in plain if (root / each).is_file()][:_MOST_PLACES]
        if there:
            names = ", ".join(there)
            yield Recalled(text=f"similar earlier work was in {names}", why=why)


def find_remedy(lessons: Sequence[Lesson], line: str) -> Lesson | None:
    """Return the lesson on what works in place of a command that fails here, None without one."""
    line = " ".join(line.split())
    for each in lessons:
        if each.kind == "contrast" and each.avoid == line and each.use:
            return each
    purpose = find_purpose(line)
    for each in lessons:
        if (
            purpose
            and each.purpose == purpose
            and each.kind in ("command", "contrast")
            and each.use not in ("", line)
        ):
            return each
    return None
