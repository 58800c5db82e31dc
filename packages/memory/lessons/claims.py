"""Rules for claims: which commands and sentences a lesson may hold, whoever it is from."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from agent.memory.records import Lesson
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell import judge_command_line

MOST_CLAIM = 300
"""Characters of a claim that somebody else wrote: one sentence or two."""

_PLAIN = compile_lazily(r"[A-Za-z0-9_./:=@+,\[\]-]+(?: [A-Za-z0-9_./:=@+,\[\]-]+)*")
"""A command as one types it. Quotes, comments and operators could carry sentences of whoever wrote the files."""

_MOST_WORDS, _MOST_LENGTH = 8, 120
"""Of such a command: enough for options and a path, and too little for a text."""

_MOST_BARE, _MOST_PARTS = 5, 10
"""Words of letters alone, of which "docker compose run web pytest" has five, and parts of one word between `/`, `-`
and the like: whatever says more than a command is a sentence."""

_SEPARATOR = compile_lazily(r"[^A-Za-z0-9]+")

_RIGHTS = compile_lazily(
    r"\b(?:approv|permi(?:t|ssion)|sandbox|allow|without asking|ask me|confirm|yolo|trust)", re.IGNORECASE
)


_FORGED = compile_lazily(r"\bthe person said\b", re.IGNORECASE)
"""How a model is told a person's own words: no other claim may pass for them."""

_CODE = compile_lazily(r"`([^`\n]+)`")

_NOWHERE = Path("/nonexistent")
"""Root for judging a command that a claim names: where it would be run is not known."""

_ID = compile_lazily(r"L[0-9a-f]{8}")


def is_plain(line: str) -> bool:
    """Whether a command may become part of a lesson."""
    words = line.split(" ")
    bare = sum(each.isalpha() and each.islower() for each in words)
    return (
        len(line) <= _MOST_LENGTH
        and len(words) <= _MOST_WORDS
        and bare <= _MOST_BARE
        and _PLAIN.fullmatch(line) is not None
        and not any(len(_SEPARATOR.split(each)) > _MOST_PARTS for each in words)
    )


def is_about_rights(claim: str) -> bool:
    """Whether a sentence is about what may be done without asking: that is set in the settings, and nowhere else."""
    return _RIGHTS.search(claim) is not None


def find_problem(lesson: Lesson) -> str:
    """Return why a lesson of somebody else is not taken, "" if it may be."""
    if not lesson.claim:
        return "it claims nothing"
    if _ID.fullmatch(lesson.id) is None:  # a model is shown it
        return "its id is not that of a lesson"
    if len(lesson.claim) > MOST_CLAIM:
        return f"its claim has more than {MOST_CLAIM} characters"
    if is_about_rights(lesson.claim):
        return "it is about permissions, which only the settings give"
    if _FORGED.search(lesson.claim):
        return "it claims to be the person's words"
    for line in _CODE.findall(lesson.claim):
        kinds = {each.kind for each in judge_command_line(line, root=_NOWHERE).effects}
        if "destructive" in kinds or ("network" in kinds and not is_plain(line)):
            return f"{line[:40]!r} destroys, or reaches hosts"
    commands = (lesson.use, lesson.avoid) if lesson.kind not in ("correction", "skill") else ()
    if odd := next((each for each in commands if each and not is_plain(each)), ""):
        return f"{odd[:40]!r} is more than a plain command"
    return ""


def make_lesson_id(kind: str, *parts: str) -> str:
    """Return the id of a lesson: the same claim has the same, in whatever session it is found."""
    text = "\0".join([kind, *(" ".join(each.casefold().split()) for each in parts)])
    return f"L{hashlib.sha256(text.encode()).hexdigest()[:8]}"
