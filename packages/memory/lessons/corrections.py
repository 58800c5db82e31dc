"""Lessons from a person's words: what they correct, and what they always or never want."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agent.memory.records import Lesson
from agent.prompt.prompt_text import find_paths, remove_quoted_text
from packages.memory.lessons.claims import is_about_rights, make_lesson_id
from packages.memory.turn_record import TurnRecord
from sandbox.lazy_pattern import compile_lazily

_MOST_PROMPT = 1_500
"""Characters of a prompt that is read: a longer one is a pasted document, whose rules are its author's."""

_MOST_CLAIM = 200

_SENTENCE_END = compile_lazily(r"(?<=[.!?])\s+|\n+|;\s+")

_STANDING = compile_lazily(
    r"(?:(?:please|and|also|but|so)[, ]+)*(?:always|never|from now on|in future"
    r"|in this (?:repo(?:sitory)?|project),?)\b"
    r"(?! ?(?:seen|been|had|was|fails?|returns?|gets?|ends?|worked|works|is|are)\b)",
    re.IGNORECASE,
)
"""Beginning of a sentence that orders something for good. "Never returns" describes a fault."""

_CORRECTION = compile_lazily(
    r"(?:no|nope|wrong|stop|not (?:like )?that)[,.:!—– -]+(?:please )?(?:(?:you )?(?:should |must |have to )?)?"
    r"(?:use|run|call|put|write|keep|do not|don't|prefer)\b"
    r"|(?:use|prefer|run) \S+(?: \S+)? (?:instead of|rather than|not)\s",
    re.IGNORECASE,
)

_INSTEAD = compile_lazily(
    r"(?:use|prefer|run) (?P<use>[\w./+-]+(?: [\w./+-]+)?),? (?:instead of|rather than|(?:and )?not) "
    r"(?P<avoid>[\w./+-]+)",
    re.IGNORECASE,
)

LANGUAGES = (
    "python",
    "javascript",
    "typescript",
    "rust",
    "java",
    "ruby",
    "go",
    "kotlin",
    "swift",
    "php",
    "scala",
)


def is_standing_wish(sentence: str) -> bool:
    """Whether a sentence says what somebody always or never wants, or corrects what was done."""
    return _STANDING.match(sentence) is not None or _CORRECTION.match(sentence) is not None


def draw_corrections(record: TurnRecord, typed: Iterable[tuple[str, str]], session: str) -> Iterator[Lesson]:
    """Yield the lessons in what a person typed in a turn, each text with its event. Nothing else is read: not what
    files, tools and other models say, nor what a command's file or a script put into the prompt."""
    now = record.end.time if record.end is not None else record.prompt.time
    for text, event in typed:
        if len(text) > _MOST_PROMPT:
            continue
        for sentence in _SENTENCE_END.split(remove_quoted_text(text)):
            claim = " ".join(sentence.split()).strip(" -*")
            if len(claim) > _MOST_CLAIM or is_about_rights(claim):
                continue
            if not is_standing_wish(claim):
                continue
            instead = _INSTEAD.search(claim)
            paths = find_paths(claim)
            yield Lesson(
                id=make_lesson_id("correction", claim.rstrip(".!")),
                kind="correction",
                claim=claim,
                use=instead["use"].rstrip(".") if instead else "",
                avoid=instead["avoid"].rstrip(".") if instead else "",
                origin="person",
                session=session,
                event=event,
                path=paths[0] if paths else "",
                language=next(
                    (each for each in LANGUAGES if re.search(rf"\b{each}\b", claim, re.IGNORECASE)), ""
                ),
                created=now,
                seen=now,
                good=1,
            )
