"""Lenient parser of JSON as weak models write it, which never guesses missing parts.

Accepted: single quotes, triple quotes, names without quotes, Python's words and JSON5's comments, trailing
commas, line breaks and unknown escapes in strings, a code fence around the whole, unescaped quotation marks
inside a string. Refused: anything that ends before it is closed. Libraries that repair JSON complete
truncated text; here that would run half of an edit, so they cannot be used.
"""

from __future__ import annotations

import json
import re
from typing import Any

from sandbox.lazy_pattern import compile_lazily


class NotReadable(ValueError):
    """The text is not a complete value."""


def parse_lenient_json(text: str) -> Any:
    """Parse a text that is one value, perhaps in a code fence. Raises NotReadable, also for one that is too long."""
    if len(text) > _LONGEST:
        raise NotReadable("too long")
    if fence := _FENCE.match(text):
        text = fence[1]
    failure: NotReadable | None = None
    for stray_quotes in (False, True):
        reader = _Reader(text, stray_quotes=stray_quotes)
        try:
            value, end = reader.read_value(0)
            if reader.skip_whitespace(end) < len(text):
                raise NotReadable("something stands after the value")
            return value
        except NotReadable as error:
            failure = error
    raise failure or NotReadable("nothing to read")


def parse_json_at(text: str, start: int) -> tuple[Any, int]:
    """Return (value, index after it) of the value that begins at `start`. Raises NotReadable."""
    try:
        value, end = _STRICT.raw_decode(text, start)
        return value, end
    except (ValueError, RecursionError):  # not strict JSON: try the lenient parser
        return _Reader(text, stray_quotes=False).read_value(start)


def _has_balanced_brackets(text: str) -> bool:
    return all(text.count(opening) == text.count(closing) for opening, closing in ("()", "[]", "{}"))


_STRICT = json.JSONDecoder(strict=False)
_FENCE = compile_lazily(r"\s*```[\w-]*[ \t]*\n(.*)\n\s*```\s*\Z", re.DOTALL)
_SPACE = compile_lazily(r"(?:\s|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = compile_lazily(
    r"[-+]?(?:0[xX][0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(?![\w.])"
)
_WORD = compile_lazily(r"[A-Za-z_$][\w$-]*")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""} | {c: c for c in "\"'\\/`"}
_UNICODE = compile_lazily(r"[0-9a-fA-F]{4}")
_ENDS_KEY = compile_lazily(r"\s*:")
_ENDS_VALUE = compile_lazily(r"""\s*(?:\}|\]|,\s*(?:["'][\w$.-]+["']|[A-Za-z_$][\w$-]*)\s*:|,\s*[\]}])""")
_PLAIN = compile_lazily(r"[^\\\"']+")
_LONGEST = 1 << 18
"""Characters: reading them takes tenths of a second, and models write long texts in strict JSON."""

_LONGEST_NUMBER = 300
"""Digits: more than a float has, less than Python refuses to read or to write."""

_DEEPEST = 60
"""Nested values: more than any tool's arguments have, less than Python's own stack allows."""


class _Reader:
    """A recursive-descent parser. stray_quotes: a quotation mark ends a string only if the object can
    continue after it"""

    def __init__(self, text: str, *, stray_quotes: bool) -> None:
        self._text = text
        self._stray = stray_quotes
        self._depth = 0

    def skip_whitespace(self, at: int) -> int:
        """Return the index after white space and comments."""
        match = _SPACE.match(self._text, at)
        assert match is not None, "it matches nothing, too"
        return match.end()

    def read_value(self, at: int) -> tuple[Any, int]:
        at = self.skip_whitespace(at)
        head = self._text[at : at + 1]
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NotReadable("too deep")
        try:
            if head == "{":
                return self._read_object(at + 1)
            if head == "[":
                return self._read_array(at + 1)
            if head in ("'", '"') and head:
                return self._read_string(at, _ENDS_VALUE)
            return self._read_bare_value(at)
        finally:
            self._depth -= 1

    def _read_object(self, at: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        while True:
            at = self.skip_whitespace(at)
            if self._text[at : at + 1] == "}":
                return found, at + 1
            key, at = self._read_key(at)
            if key in found:
                raise NotReadable(f"{key!r} is given twice")
            at = self.skip_whitespace(at)
            if self._text[at : at + 1] not in (":", "="):
                raise NotReadable(f"no colon after {key!r}")
            found[key], at = self.read_value(at + 1)
            at = self._read_separator(at, "}")

    def _read_array(self, at: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        while True:
            at = self.skip_whitespace(at)
            if self._text[at : at + 1] == "]":
                return found, at + 1
            value, at = self.read_value(at)
            found.append(value)
            at = self._read_separator(at, "]")

    def _read_separator(self, at: int, end: str) -> int:
        at = self.skip_whitespace(at)
        head = self._text[at : at + 1]
        if head == ",":
            return at + 1
        if head != end:
            raise NotReadable("it ends before it is closed" if not head else f"{head!r} is not expected")
        return at

    def _read_key(self, at: int) -> tuple[str, int]:
        if self._text[at : at + 1] in ("'", '"'):
            return self._read_string(at, _ENDS_KEY)
        if match := _WORD.match(self._text, at):
            return match[0], match.end()
        raise NotReadable("no name where one is expected")

    def _read_bare_value(self, at: int) -> tuple[Any, int]:
        if match := _NUMBER.match(self._text, at):
            number = match[0]
            if len(number) > _LONGEST_NUMBER:
                raise NotReadable("a number is too long")
            if "x" in number.lower():
                return int(number, 16), match.end()
            whole = number.lstrip("+-").isdigit()
            return (int(number) if whole else float(number)), match.end()
        if (match := _WORD.match(self._text, at)) and match[0] in _WORDS:
            return _WORDS[match[0]], match.end()
        raise NotReadable("no value where one is expected")

    def _read_string(self, at: int, ends: re.Pattern[str]) -> tuple[str, int]:
        text = self._text
        quote = text[at]
        if text.startswith(quote * 3, at):
            end = text.find(quote * 3, at + 3)
            if end < 0:
                raise NotReadable("a string is not closed")
            return text[at + 3 : end].removeprefix("\n"), end + 3
        found: list[str] = []
        strays, at = 0, at + 1
        while at < len(text):
            if plain := _PLAIN.match(text, at):
                found.append(plain[0])
                at = plain.end()
                continue
            char = text[at]
            if char == "\\":
                piece, at = self._read_escape(at + 1)
                found.append(piece)
                continue
            if char == quote:
                if not self._stray or ends.match(text, at + 1):
                    whole = "".join(found)
                    # One unmatched mark or bracket is the sign of a text that was truncated inside its own
                    # quotes.
                    if strays and (strays % 2 or not _has_balanced_brackets(whole)):
                        raise NotReadable("a string is not closed")
                    return whole, at + 1
                strays += 1
            found.append(char)
            at += 1
        raise NotReadable("a string is not closed")

    def _read_escape(self, at: int) -> tuple[str, int]:
        head = self._text[at : at + 1]
        if head == "u" and (match := _UNICODE.match(self._text, at + 1)):
            first, end = int(match[0], 16), match.end()
            if 0xD800 <= first < 0xDC00 and self._text[end : end + 2] == "\\u":
                low = _UNICODE.match(self._text, end + 2)
                if low and 0xDC00 <= int(low[0], 16) < 0xE000:
                    pair = 0x10000 + ((first - 0xD800) << 10) + int(low[0], 16) - 0xDC00
                    return chr(pair), low.end()
            return chr(first), end
        if not head:
            raise NotReadable("it ends in an escape")
        # An unknown escape belongs to a regular expression or a path: both characters are meant.
        return _ESCAPES.get(head, "\\" + head), at + 1
