"""Blanking of preprocessor macros in C and C++ heads: `class MYLIB_API Thing {`, `int MYLIB_CALL main(void)`.

A grammar parses the first as a function called `Thing` and the class members as its body. Macros are replaced by
blanks, so offsets and lines do not change.
"""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily

_MACRO = rb"([A-Z][A-Z0-9_]*[A-Z0-9](?:\((?:[^()\n]|\([^()\n]*\))*\))?)"
"""A name without lower-case letters, optionally with arguments."""

_HEAD = compile_lazily(
    rb"\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+" + _MACRO + rb"\s+"
    # The name, then the start of a body or a list of bases. `class A B;` declares a variable: no body
    # follows.
    rb"(?=[A-Za-z_]\w*(?:::\w+)*(?:<[^<>;{}]{0,200}>)?\s{0,9}(?:final\s{0,9})?(?:\{|:(?!:)[^;{}]{0,600}\{))"
)
"""The macro between `class` and the class's name."""

_TOKEN = (
    rb"(?:[A-Z][A-Z0-9_]*[A-Z0-9]\((?:[^()\n]|\([^()\n]*\))*\)|"
    rb"[A-Za-z_]\w*(?:::\w+)*(?:<[^<>;{}()\n]{0,200}>)?)[ \t\n*&]+"
)
_CALL = compile_lazily(
    rb"(?m)^[ \t]*((?:" + _TOKEN + rb"){2,8})(?=[A-Za-z_]\w*(?:::~?\w+)*[ \t]*\()",
)
"""Text before a function's name, at the start of a line: type, calling convention, linkage."""

_WORD = compile_lazily(_TOKEN)

_QUALIFIERS = frozenset(
    b"static extern inline const constexpr volatile virtual explicit friend register struct enum union class".split()
)
"""Words of a function head that do not decide whether it has a type."""

_BUILT_IN = frozenset(b"unsigned signed long short int char float double bool void".split())
"""Types of which several may occur together."""

_LOUD = compile_lazily(rb"[A-Z][A-Z0-9_]*[A-Z0-9](?:\(.*)?")
"""No lower-case letters, optionally with arguments."""

_STATEMENTS = frozenset(
    b"return else case goto new delete typedef throw define operator using namespace template typename if while for "
    b"switch do sizeof default".split()
)
"""Words that show that a head is not a function's."""


def blank_macros(source: bytes) -> bytes:
    """Return the source with blanks in place of macros; its length is unchanged."""
    spans = [match.span(1) for match in _HEAD.finditer(source)]
    for match in _CALL.finditer(source):
        spans += _find_macro_spans(match[1], match.start(1))
    if not spans:
        return source
    left = bytearray(source)
    for first, end in spans:
        left[first:end] = re.sub(rb"[^\n]", b" ", source[first:end])
    return bytes(left)


def _find_macro_spans(head: bytes, start: int) -> list[tuple[int, int]]:
    """Return the spans of a head's words that are not types: of the candidates, the last not in capitals is kept."""
    words = [(word[0].rstrip(b" \t\n*&"), start + word.start()) for word in _WORD.finditer(head)]
    if not _STATEMENTS.isdisjoint(word for word, _ in words):
        return []
    named = [(word, at) for word, at in words if word not in _QUALIFIERS]
    quiet = [each for each in named if not _LOUD.fullmatch(each[0])]
    kept = {at for word, at in quiet if word in _BUILT_IN} or {at for _, at in quiet[-1:] or named[:1]}
    return [(at, at + len(word)) for word, at in named if at not in kept]
