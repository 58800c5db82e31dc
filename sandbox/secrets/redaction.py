"""Find secrets in text and replace them by a marker, in whole texts or streams."""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from sandbox.secrets.secret_patterns import Span

MARKER = "[redacted]"
"""Replacement of a secret. No pattern matches it, so that text can be redacted twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSecret:
    """A secret in a text: its kind, start and end."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> list[FoundSecret]:
    """Return the secrets in a text, in order, without overlaps: known shapes, private keys, our own
    variables' values."""
    return [FoundSecret(kind=kind, start=start, end=end) for start, end, kind in _find_spans(text)]


def redact(text: str) -> str:
    """Return `text` with every secret in it replaced by the marker. Time is linear in its length."""
    spans = _find_spans(text)
    if not spans:
        return text
    parts, shown = [], 0
    for start, end, _ in spans:
        parts += [text[shown:start], MARKER]
        shown = end
    return "".join([*parts, text[shown:]])


def _find_spans(text: str) -> list[Span]:
    if not _has_hidden(text):
        return _find_spans_in_plain(text)
    # Colours and invisible characters in and around a key do not hide it. The search runs on the text that a person
    # sees, and once more with each code as a border: a key begins where its colour begins, whatever is in front of it.
    bordered = _compile_hidden(text).sub(lambda code: " " * len(code[0]), text)
    return _merge_spans([*_find_visible_spans(text), *_find_spans_in_plain(bordered)])


def _has_hidden(text: str) -> bool:
    """Return whether a text has codes or characters that are not seen. Plain output is most: it is not searched."""
    if any(each in text for each in _HIDDEN_ASCII):
        return True
    return not text.isascii() and _compile_pattern(_INVISIBLE).search(text) is not None


def _find_visible_spans(text: str) -> list[Span]:
    """Return the secrets of a text without its codes, as offsets in the text with them."""
    plain: list[str] = []
    starts, shifts = [0], [0]
    shown = length = 0
    for match in _compile_hidden(text).finditer(text):
        plain.append(text[shown : match.start()])
        length += match.start() - shown
        shown = match.end()
        starts.append(length)
        shifts.append(shown - length)
    plain.append(text[shown:])

    def to_original_index(index: int) -> int:
        return index + shifts[bisect_right(starts, index) - 1]

    return [
        (to_original_index(start), to_original_index(end - 1) + 1, kind)
        for start, end, kind in _find_spans_in_plain("".join(plain))
    ]


_ESCAPE = r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\-_])"
_INVISIBLE = "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
_INVISIBLE += "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
_HIDDEN_ASCII = "\x1b\0\b\x7f\r"
_RETURN = r"(?<=\S)\r+(?=[^\s\r])"
"""Within a word: as the end of a line it stands before its `\\n`."""

_SKIPPED = rf"{_ESCAPE}|{_RETURN}|{_INVISIBLE[:-1]}\0\x7f]"
_OVERWRITTEN = rf"{_SKIPPED}|[^\n\x1b]\x08"
"""What a person does not see between two characters, also what is overwritten: that search takes six times as long."""


def _compile_hidden(text: str) -> re.Pattern[str]:
    if "\b" in text:
        return _compile_pattern(_OVERWRITTEN)
    has_codes_only = text.isascii() and not any(each in text for each in "\0\x7f\r")
    return _compile_pattern(_ESCAPE if has_codes_only else _SKIPPED)


def _find_spans_in_plain(text: str) -> list[Span]:
    from sandbox.secrets.known_values import find_own_secrets
    from sandbox.secrets.pattern_search import find_known_secrets

    whole: list[Span] = []
    for start, end, kind in (*find_own_secrets(text), *_find_private_keys(text), *find_known_secrets(text)):
        while start and text[start - 1] in _WORD:
            start -= 1
        while end < len(text) and text[end] in _WORD:
            end += 1
        whole.append((start, end, kind))
    return _merge_spans(whole)


def _merge_spans(spans: list[Span]) -> list[Span]:
    """Return spans in order, those that overlap as one."""
    apart: list[Span] = []
    for start, end, kind in sorted(spans, key=_span_sort_key):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end, kind))
        elif end > apart[-1][1]:
            apart[-1] = (apart[-1][0], end, apart[-1][2])
    return apart


_WORD = frozenset(string.ascii_letters + string.digits + "_-")
"""Characters adjacent to a secret belong to it: left alone, they might look like another one afterwards."""


def _span_sort_key(span: Span) -> tuple[int, int]:
    return span[0], -span[1]


def redact_bytes(content: bytes) -> bytes:
    """Return redacted bytes; invalid UTF-8 is unchanged."""
    return redact(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


class Redactor:
    """Redactor of streamed text: a secret split over two pieces is found, and no part of it is released.

    Text is released up to a white space beyond which no secret that has begun can continue; the rest
    is held back until one arrives, or the text ends.
    """

    def __init__(self) -> None:
        self._text = ""
        self._given = 0  # of _text: kept because later text may be a secret only because of it

    def feed(self, piece: str) -> str:
        """Add a piece; return the text that is safe to show so far."""
        self._text += piece
        return self._release_text(last=False)

    def close(self) -> str:
        """End the text: return the rest."""
        return self._release_text(last=True)

    def _release_text(self, *, last: bool) -> str:
        text = self._text
        end = len(text) if last else _find_safe_end(text, self._given)
        parts, shown = [], self._given
        spans = _find_spans(text)
        if not last and spans and spans[-1][1] == len(text) <= spans[-1][0] + _LONGEST:
            end = min(end, max(spans[-1][0], self._given))  # it may continue
        for first, behind, _ in spans:
            if first < end and behind > shown:
                parts += [text[shown:first], MARKER]
                shown = behind
        given = max(end, shown)
        keep = max(text.rfind("\n", 0, max(given - _CONTEXT, 0)) + 1, given - 2 * _CONTEXT)
        self._text, self._given = text[keep:], given - keep
        return "".join([*parts, text[shown:given]])


_CONTEXT = 512
"""Characters before a value that are searched for its name."""

_LONGEST = 16 << 10
"""Characters held back at most; the longest private key in use has half of that."""


def _find_safe_end(text: str, given: int) -> int:
    """Return the offset up to which later text cannot change the secrets found."""
    from sandbox.secrets.known_values import find_unfinished

    size = end = len(text)
    if "-----BEGIN" in text and (match := _compile_pattern(_OPEN_KEY).search(text, given)):
        end = match.start()
    end = max(min(end, find_unfinished(text)), given)
    white = max(text.rfind(each, given, end) for each in " \n\t")
    settled = max(white + 1, given)
    return settled if size - settled <= _LONGEST else size - _CONTEXT


def explain_overwrite(before: str, after: str) -> str:
    """Return why a file may not be changed like this, "" if it may: a marker would replace a present secret.

    A model that was shown the marker for a value may write it back unawares. A secret may be removed, and text
    that mentions markers may be written; only both at once lose a value that was never shown.
    """
    if after.count(MARKER) <= before.count(MARKER):
        return ""
    for each in find_secrets(before):
        if before[each.start : each.end] not in after:
            line = before.count("\n", 0, each.start) + 1
            return (
                f"line {line} has a {each.kind}, which is shown as {MARKER}: that text would replace the real value. "
                "Leave that line out of what is replaced"
            )
    return ""


_BEGIN = r"(?:-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,3}(?=\s))"

_ENDING = r"-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"

_BETWEEN = r"(?>(?:[\s\"',|>+-]|\\{1,4}[nrt]|\d{1,6}[\t:|-]|[A-Z][A-Za-z-]{2,20}: [^\n]{1,80}(?=\n)){1,40})"
"""Separators between a key's lines: line ends, also as escapes, quotes, line numbers, a diff's marks, headers."""

_KEY = (
    rf"{_BEGIN}(?:[ \t]{{0,8}}(?:\r?\n|\\{{1,4}}[nr])(?>(?:[^-]|-(?!----)){{0,20000}}){_ENDING}"
    rf"|(?>(?:{_BETWEEN}[A-Za-z0-9+/=]{{16,}}+)+)"
    rf"(?:{_BETWEEN}[A-Za-z0-9+/=]{{1,15}}+(?={_BETWEEN}-----END))?(?:(?:{_BETWEEN})?{_ENDING})?)"
)
"""Complete, or truncated. In atomic groups, because Python before 3.11.5 fails at possessive ones that
backtrack inside (CPython's issue 106052)."""


_KEY_LINE = r"[\s>|+-]{0,8}(?:\d{1,6}[\t:|-][ +-]?)?[\"']?[A-Za-z0-9+/]{1,76}={0,2}(?:\\n)?[\"',]{0,2}\s*"

_OPEN_KEY = r"-----BEGIN(?:[A-Z0-9 ]{0,60}+(?:-{1,5}+[A-Za-z0-9+/=\s\\\"',|>:#.-]*+)?)?\Z"
"""The end of a text that may be a private key's beginning."""

PRIVATE_KEY = "private key"


def _find_private_keys(text: str) -> Iterator[Span]:
    """Yield private keys, also those truncated at either end."""
    if "PRIVATE KEY" not in text and "Private-Lines:" not in text:
        return
    done = 0
    for match in _compile_pattern(_KEY).finditer(text):
        yield (*match.span(), PRIVATE_KEY)
    for match in _compile_pattern(_ENDING).finditer(text):
        start = line_end = text.rfind("\n", done, match.start()) + 1
        while (begin := text.rfind("\n", done, max(start - 1, done)) + 1 or done) < start:
            least = 1 if start == line_end else _SHORTEST_LINE
            if not least <= start - begin <= _LONGEST_LINE or not _compile_pattern(_KEY_LINE).fullmatch(
                text, begin, start
            ):
                break
            start = begin
        if start < line_end and any(
            len(line.strip()) >= _SHORTEST_LINE for line in text[start:line_end].split("\n")
        ):
            yield start, match.end(), PRIVATE_KEY
        done = match.end()


_SHORTEST_LINE, _LONGEST_LINE = 60, 120
"""Characters of a key's line except the last, with possible decoration."""


@cache
def _compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern on first use: most texts contain no key."""
    return re.compile(text)


def redact_values(value: object) -> object:
    """Redact the strings in a JSON value, not its keys; return `value` itself if it has no secret.

    All strings are scanned at once, since most documents hold many short ones and no secret.
    """
    return _redact_nested(value) if _find_spans("\n\0\n".join(_iterate_texts(value))) else value


def _iterate_texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for each in value.values():
                yield from _iterate_texts(each)
        case list() | tuple():
            for each in value:
                yield from _iterate_texts(each)
        case _:  # numbers and the like
            return


def _redact_nested(value: object) -> object:
    match value:
        case str():
            return redact(value)
        case Mapping():
            return {key: _redact_nested(each) for key, each in value.items()}
        case list():
            return [_redact_nested(each) for each in value]
        case tuple():
            return tuple(_redact_nested(each) for each in value)
        case _:
            return value
