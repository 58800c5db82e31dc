"""Detection of a stream that has turned into junk: words made of several scripts, or broken characters."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from sandbox.lazy_pattern import compile_lazily

MIXED = 8
"""Words of several scripts in one span that no text has: in real ones, scripts change between words."""

SPAN = 600
"""Characters in which they are counted."""

BROKEN = 40
"""Replacement characters in one span: the server cuts characters, or the model writes bytes that are none."""

_EVERY = 120
_WORD = compile_lazily(r"[^\W\d_]{2,}")
_SCRIPTS = frozenset(
    {"LATIN", "CYRILLIC", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "ARABIC", "HEBREW", "THAI", "DEVANAGARI"}
    | {"GEORGIAN", "ARMENIAN", "BENGALI", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "GUJARATI", "GURMUKHI"}
    | {"ETHIOPIC", "KHMER", "LAO", "MYANMAR", "SINHALA", "TIBETAN", "MONGOLIAN"}
)
_TOGETHER = frozenset({"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "LATIN"})
"""Scripts that are written without spaces between them."""


class JunkDetector:
    """Detects junk at the end of a growing text. asked: text of the user, which may want such words"""

    def __init__(self, asked: str = "") -> None:
        self._is_asked = _count_mixed_words(asked) > 0
        self._tail = ""
        self._length = 0
        self._fresh = 0

    def feed(self, text: str) -> int | None:
        """Add text; return the length of the text before the junk once there is some, None before."""
        for at in range(0, len(text), _EVERY):
            piece = text[at : at + _EVERY]
            self._tail = (self._tail + piece)[-SPAN:]
            self._length += len(piece)
            self._fresh += len(piece)
            if self._fresh >= _EVERY:
                self._fresh = 0
                if (kept := self._find_junk()) is not None:
                    return kept
        return None

    def _find_junk(self) -> int | None:
        tail = self._tail
        if tail.isascii():
            return None
        if tail.count("\N{REPLACEMENT CHARACTER}") >= BROKEN:
            return self._length - len(tail) + tail.index("\N{REPLACEMENT CHARACTER}")
        if self._is_asked or _count_mixed_words(tail) < MIXED:
            return None
        first = next(match for match in _WORD.finditer(tail) if _is_mixed(match[0]))
        return self._length - len(tail) + first.start()


def _count_mixed_words(text: str) -> int:
    return 0 if text.isascii() else sum(map(_is_mixed, _WORD.findall(text)))


def _is_mixed(word: str) -> bool:
    """Whether a word has letters of scripts that no language mixes. Greek letters may be symbols (Δx)."""
    if word.isascii():
        return False
    scripts = {_get_script(each) for each in word} & _SCRIPTS
    return len(scripts) > 1 and not scripts <= _TOGETHER


@lru_cache(maxsize=4096)
def _get_script(letter: str) -> str:
    """Return the script of a letter: the first word of its Unicode name, which Python's library has no table of."""
    return unicodedata.name(letter, "UNKNOWN").partition(" ")[0].partition("-")[0]
