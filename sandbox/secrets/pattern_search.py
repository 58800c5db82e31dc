"""Search for the keys and tokens that the tables of `secret_patterns` describe, in time linear in the text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sandbox.secrets.secret_patterns import IN_CONTEXT, NAMED, TOKENS, SecretPattern, compile_pattern

if TYPE_CHECKING:
    from sandbox.secrets.secret_patterns import Span


def find_known_secrets(text: str) -> Iterator[Span]:
    """Yield the secrets that the tables below know, unordered, possibly overlapping. Time is linear in the text."""
    words, starts, shifts = _extract_long_words(text)
    for mark, shape in _MARKS:
        if mark in words:
            for start, end, kind in _find_shape(words, shape):
                shift = shifts[bisect_right(starts, start) - 1]
                yield start + shift, end + shift, kind
    for mark, shape in _CONTEXT_MARKS:
        if mark in text:
            yield from _find_shape(text, shape)
    if "=" in text or ":" in text:
        yield from _find_assigned_secrets(text)


def _extract_long_words(text: str) -> tuple[str, list[int], list[int]]:
    """Return the words of a text that are long enough for a token, one a line, so that a hundred prefixes are looked
    for in little text; the offset of each line, and what to add to it for its offset in the text."""
    marked = text.encode("latin-1", "replace").translate(_TOKEN_MAP)
    parts: list[str] = []
    starts, shifts = [0], [0]
    length = 0
    start = marked.find(_LONG_RUN)
    while start >= 0:
        end = marked.find(b" ", start)
        end = len(marked) if end < 0 else end
        first = max(start - _BEFORE_WORD, 0)
        parts.append(text[first:end])
        starts.append(length)
        shifts.append(first - length)
        length += end - first + 1
        start = marked.find(_LONG_RUN, end)
    return "\n".join(parts), starts, shifts


_BEFORE_WORD = 12
"""Characters before a word that a pattern looks at: the number in a Telegram token."""


_TOKEN_CHARACTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/=")
_TOKEN_MAP = bytes(ord("x") if each in _TOKEN_CHARACTERS else ord(" ") for each in range(256))
_LONG_RUN = b"x" * 20
"""No token of the table below is shorter, prefix included."""


def _find_shape(text: str, shape: SecretPattern) -> Iterator[Span]:
    pattern = compile_pattern(shape.pattern)
    group = "secret" if "secret" in pattern.groupindex else 0
    for match in pattern.finditer(text):
        before = text[match.start() - 1] if match.start() else " "
        is_glued = before.isalnum() or before in "_-"
        if shape.good(match[group]) and (not is_glued or shape.glued(match[group], before)):
            yield (*match.span(group), shape.kind)


def _find_assigned_secrets(text: str) -> Iterator[Span]:
    for match in compile_pattern(_ASSIGNMENT).finditer(text):
        before = match.start()
        name = text[max(before - _LONGEST_NAME, 0) : before].rstrip(_AROUND_NAME).lower().translate(_JOINTS)
        if not name.endswith(_ENDINGS):
            continue
        group = "quoted" if match["quoted"] else "bare"
        for each in NAMED:
            fits = name.endswith(each.endings) and each.about in name
            if fits and compile_pattern(each.value).fullmatch(match[group]) and each.good(match[group]):
                yield (*match.span(group), each.kind)
                break


_ASSIGNMENT = (
    r"[=:][>=]?[ \t]{0,8}(?:"
    r"""\\?(?P<quote>["'])(?P<quoted>[!#-&(-\[\]-~]{12,400}+)\\?(?P=quote)"""
    r"|(?P<bare>[A-Za-z0-9+/_.~-]{16,}+={0,2})(?![\w(\[\"']))"
)

_LONGEST_NAME = 48
"""Characters before a value that are searched for its name."""

_AROUND_NAME = " \t:\"'\\])"

_JOINTS = dict.fromkeys(map(ord, "_-. "))


_MARKS = tuple((mark, shape) for shape in TOKENS for mark in shape.marks)
_CONTEXT_MARKS = tuple((mark, shape) for shape in IN_CONTEXT for mark in shape.marks)

_ENDINGS = tuple({ending for each in NAMED for ending in each.endings})
