"""Commit message in a model's answer: parsed and judged by code, since small models answer with anything."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.sanitize import sanitize_text
from tools.git.git_change import Change
from tools.git.messages.message_prompts import INSTRUCTIONS
from tools.git.messages.message_style import WIDTH, Style, check_message
from tools.git.messages.message_summary import diff_symbols

_LABEL = compile_lazily(
    r"(?:\W*\b(?:commit message|commit|message|subject(?: line)?|title|body|description)\b"
    r"[^\w\"']*:[^\w\"'`“„«「『]*)+",
    re.IGNORECASE,
)
"""A label that models write before a message, or before a part of it."""

_COMMAND = compile_lazily(r"git commit\b.*?\s-a?m\s*([\"'])(?P<text>.+)\1\s*", re.DOTALL)

_FENCE = compile_lazily(
    r"^\s*(?:```|~~~)[^\n]*\n(?P<text>.*?)(?:^\s*(?:```|~~~)|\Z)", re.MULTILINE | re.DOTALL
)

_THOUGHT = compile_lazily(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)

_TAGS = compile_lazily(r"[<\[](\w+)[>\]](?P<text>.+)[<\[]/\1[>\]]", re.DOTALL)
"""Tags around the whole of a message."""

_SIGNED = compile_lazily(
    r"^(?:signed-off|co-authored|co-developed|reviewed|acked|tested|approved|reported|suggested)-by:.*\n?",
    re.IGNORECASE | re.MULTILINE,
)
"""Trailers that name a person: no model speaks for one."""

_SUBJECT_KEYS, _BODY_KEYS = ("subject", "title", "summary", "message"), ("body", "description", "details")

_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "„": "“", "«": "»", "‘": "’", "「": "」", "『": "』"}

_MARKS = compile_lazily(r"^(?:#{1,6}\s+|>\s*|[-*•]\s+|\d+[.)]\s+)+")
"""Markdown before a line: a heading, a quotation, an item of a list."""

_TALK = compile_lazily(
    r"(?:I|I'm|I've|I'll|we|you|sure|certainly|okay|ok|yes|sorry|thanks?|please|let me|let's|based on)\b(?!\()"
    r"|here(?: is| are|'s)\b|(?:note|task)(?::| that)|(?:this|the) (?:commit|message|subject|change|diff)\b|.*:$",
    re.IGNORECASE,
)
"""Openings of an answer to the request; a subject says what the change does."""

_ABOUT_MESSAGES = compile_lazily(
    r"imperative mood|\b\d+ characters|commit message|subject line|conventional commits", re.IGNORECASE
)

_SHORTEST_ECHO = 4
"""Words in a row that are no accident."""

_COMMON_WORDS = """
a an and are as at be but by do does for from has have if in into is it its no not of on or so that the their them then
there this to was what when which who will with all any some more now new old other use used using add added adds change
changed changes fix fixed fixes make makes made update updated updates remove removed removes set code file files
function functions method class test tests line lines bug issue error problem work works passing pass return def import
self none true false done correct properly
"""
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that stand in many diffs and many answers, and so say nothing of this change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message in parts; the body is "" if there is none."""

    subject: str
    body: str = ""

    def __str__(self) -> str:
        return f"{self.subject}\n\n{self.body}".strip()


def parse_message(answer: str) -> Message:
    """Parse a model's answer: the message without fences, labels, quotation marks and words about it."""
    text = _THOUGHT.sub("", answer.replace("\r\n", "\n")).strip()
    fenced = _FENCE.search(text)
    if (
        fenced
        and (before := text[: fenced.start()].strip()).count("\n") == 0
        and (not before or _TALK.match(before))
    ):
        text = fenced["text"].strip()
    text = text.strip("`\n ") if text.startswith("```") else text
    text = tagged["text"].strip() if (tagged := _TAGS.fullmatch(text)) else text
    if found := _read_object(text):
        return found
    if command := _COMMAND.match(text):
        text = command["text"]
    lines = text.split("\n")
    while len(lines) > 1 and (not lines[0].strip() or lines[0].rstrip(" *").endswith(":")):
        del lines[0]  # "Here is the commit message:"
    text = _strip_quotes("\n".join(lines).strip())
    subject, _, rest = text.partition("\n")
    subject = _LABEL.sub("", subject, count=1) if _LABEL.match(subject) else subject
    subject = _strip_quotes(_MARKS.sub("", subject.strip()))
    return Message(subject=subject, body=drop_repetition(subject, rest))


def _read_object(text: str) -> Message | None:
    """Return the message in an answer that is a JSON object, None for any other."""
    if not text.startswith("{"):
        return None
    try:
        fields = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    words = [
        next((str(fields[key]) for key in keys if fields.get(key)), "")
        for keys in (_SUBJECT_KEYS, _BODY_KEYS)
    ]
    subject, _, rest = words[0].strip().partition("\n")
    return Message(subject=subject, body=drop_repetition(subject, f"{rest}\n\n{words[1]}"))


def drop_repetition(subject: str, body: str) -> str:
    """Return a body without labels and fences, trailers that name a person, and paragraphs that repeat the subject, a
    part of it, or one before them."""
    return _drop_repeated(subject, _SIGNED.sub("", body))


def drop_repeated_paragraphs(message: str) -> str:
    """Return a whole message without paragraphs that repeat the subject, a part of it, or one before them."""
    subject, _, body = message.strip().partition("\n")
    return f"{subject}\n\n{_drop_repeated(subject, body)}".strip()


def _drop_repeated(subject: str, body: str) -> str:
    known = [_split_words(subject)]
    kept = []
    for paragraph in re.split(r"\n[ \t]*\n", body.strip()):
        text = _LABEL.sub("", paragraph, count=1) if _LABEL.match(paragraph) else paragraph
        words = _split_words(text)
        if words and not any(_contains_row(each, words) for each in known):
            kept.append(text.strip("\n"))
            known.append(words)
    return "\n\n".join(kept)


def judge_message(message: Message, change: Change, style: Style, request: str) -> bool:
    """Return whether a message by a model can be used for a change.

    request: the user's prompt, which the subject must not only repeat
    """
    subject = message.subject
    words = _split_words(subject)
    is_latin = sum(each.isascii() for each in subject) * 2 > len(subject)
    if not words or len(subject) > max(WIDTH, style.rules.header_length) or (len(words) < 2 and is_latin):
        return False
    if sanitize_text(str(message)) != str(message):  # characters that hide others
        return False
    if (
        _TALK.match(subject)
        or _ABOUT_MESSAGES.search(subject)
        or "```" in subject
        or subject in style.examples
    ):
        return False
    if check_message(str(message), style)[0] or is_echo(subject, INSTRUCTIONS.format(width=WIDTH)):
        return False
    if not is_latin:  # its words are not those of the code
        return True
    if is_echo(subject, request):
        return _shares_word(subject, _list_names(change))
    return _shares_word(subject, _list_changed_lines(change)) or _shares_word(subject, _list_names(change))


def is_echo(text: str, source: str) -> bool:
    """Return whether a text is a part of another one, word by word."""
    words, others = _split_words(text), _split_words(source)
    return len(words) >= _SHORTEST_ECHO and _contains_row(others, words)


def _contains_row(words: Sequence[str], row: Sequence[str]) -> bool:
    """Return whether words stand in a row among others."""
    return any(words[start : start + len(row)] == row for start in range(len(words) - len(row) + 1))


def _strip_quotes(text: str) -> str:
    """Strip quotation marks around the whole of a text, and Markdown's emphasis."""
    while len(text) > 1 and (_QUOTES.get(text[0]) == text[-1] or (text[0] == text[-1] == "*")):
        text = text[1:-1].strip()
    return text


def _split_words(text: str) -> list[str]:
    """Return the words of a text, lower case; names are split at underscores and capitals."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return [each.lower() for each in re.findall(r"[^\W_]+", spaced)]


def _shares_word(subject: str, texts: Sequence[str]) -> bool:
    """Return whether a subject has a word of the texts; the end of a long word does not count (round, rounding)."""
    there = {_cut_word(word) for text in texts for word in _split_words(text)}
    return any(_cut_word(word) in there for word in _split_words(subject) if word not in _COMMON)


def _cut_word(word: str) -> str:
    return word[:5].rstrip("s") if len(word) > 3 else word


def _list_names(change: Change) -> list[str]:
    """Return the paths of a change, and the symbols that it touches."""
    change.load_contents()
    found = [each.path for each in change.files]
    for file in change.files:
        symbols = diff_symbols(change, file)
        found += [
            *symbols.added,
            *symbols.changed,
            *symbols.removed,
            *(name for pair in symbols.renamed for name in pair),
        ]
    return found


def _list_changed_lines(change: Change) -> list[str]:
    change.load_contents()
    found: list[str] = []
    for file in change.files:
        old, new = (set(change.read_text(blob).split("\n")) for blob in (file.old, file.new))
        found += old ^ new
    return found
