"""Detection of a stream that loops: a small model repeats one sentence until its output limit."""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily

MOST_PERIOD = 600
"""Characters of the longest repeated passage that is searched for."""

LEAST_SPAN = 480
"""Characters that repetitions of a passage of prose must fill, about 120 tokens."""

LEAST_TIMES = 3
"""Complete repetitions of a passage of prose."""

OTHER_SPAN = 4_000
"""Characters for passages that may well be repeated on purpose: code, rows of numbers."""

ASKED_SPAN = 16_000
"""Characters for passages that the user wrote: they may have asked for a hundred copies."""

_EVERY = 80
"""Characters after which the tail is looked at again."""

_PROBE = 24
_WORD = compile_lazily(r"[^\W\d_]{2,}")
_LEAST_WORDS = 4


class RepetitionDetector:
    """Detects that the end of a growing text repeats one passage without any change.

    asked: text of the user; passages that stand in it may be repeated because they asked for that
    is_code: whether all of it counts as code, of which more may be the same
    """

    def __init__(self, asked: str = "", *, is_code: bool = False) -> None:
        self._is_code = is_code
        self._asked = " ".join(asked.split())
        self._tail = ""
        self._length = 0
        self._fresh = 0
        self._fences = 0

    def feed(self, text: str) -> int | None:
        """Add text; return the length of all text without the repetitions once it loops, None before."""
        if self._fresh + len(text) <= _EVERY:
            self._add(text)
            return None
        for at in range(
            0, len(text), _EVERY
        ):  # a burst is looked at in pieces, so that none is kept of a long loop
            self._add(text[at : at + _EVERY])
            if self._fresh >= _EVERY:
                self._fresh = 0
                if (kept := self._find_loop()) is not None:
                    return kept
        return None

    def _add(self, piece: str) -> None:
        self._fences += (self._tail[-2:] + piece).count("```")
        self._tail = (self._tail + piece)[-(ASKED_SPAN + MOST_PERIOD) :]
        self._length += len(piece)
        self._fresh += len(piece)

    def _find_loop(self) -> int | None:
        tail = self._tail
        before = tail.rfind(tail[-_PROBE:], max(0, len(tail) - _PROBE - MOST_PERIOD), len(tail) - 1)
        if before < 0:
            return None
        period = len(tail) - _PROBE - before
        span = _measure_periodic_end(tail, period)
        if span < max(LEAST_SPAN, (LEAST_TIMES + 1) * period):
            return None
        passage = tail[-period:]
        if span < self._find_least_span(passage):
            return None
        return self._length - span + period

    def _find_least_span(self, passage: str) -> int:
        words = " ".join(passage.split())
        if not words:
            return LEAST_SPAN  # nothing but blanks: thoughts of some models are that
        # The passage begins anywhere in the sentence: its longest line or sentence is compared.
        pieces = re.split(r"(?<=[.!?:;])\s+", words)
        longest = max(pieces, key=len).strip(" .!?:;\"'*-")
        if longest and longest in self._asked:
            return ASKED_SPAN
        is_code = self._is_code or self._fences % 2 == 1 or len(set(_WORD.findall(passage))) < _LEAST_WORDS
        return OTHER_SPAN if is_code else LEAST_SPAN


def _measure_periodic_end(text: str, period: int) -> int:
    """Return the characters at the end of `text` that repeat themselves after `period` characters."""
    low, high = period, len(text)
    # The property "the last n characters have this period" holds for all smaller n: bisect by comparing slices.
    while low < high:
        middle = (low + high + 1) // 2
        part = text[-middle:]
        if part[period:] == part[:-period]:
            low = middle
        else:
            high = middle - 1
    return low
