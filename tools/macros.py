"""Words of C and C++ that only the preprocessor knows: `class MYLIB_API Thing {`, `int MYLIB_CALL main(void)`.

A grammar takes the first for a function called `Thing`, and what is inside of it for its body. A text that is parsed
without such words has the same offsets and lines as before: blanks stand in their places.
"""

from __future__ import annotations

import re

_MACRO = rb"([A-Z][A-Z0-9_]*[A-Z0-9](?:\((?:[^()\n]|\([^()\n]*\))*\))?)"
"""A name without small letters, perhaps with arguments."""

_HEAD = re.compile(
    rb"\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+" + _MACRO + rb"\s+"
    # Its name and what begins a body or a list of bases. `class A B;` declares a variable: no body follows.
    rb"(?=[A-Za-z_]\w*(?:::\w+)*(?:<[^<>;{}]{0,200}>)?\s{0,9}(?:final\s{0,9})?(?:\{|:(?!:)[^;{}]{0,600}\{))"
)
"""What stands between `class` and the class's name."""

_CALL = re.compile(
    rb"(?m)^[ \t]*(?:(?:static|extern|inline|const|unsigned|signed|struct|long|virtual)[ \t]+)*"
    rb"(?!(?:static|extern|inline|const|return|else|case|goto|new|delete|typedef|throw|struct|virtual|define|operator|"
    rb"class|enum|union|using|namespace|template|typename|if|while|for|switch|do|sizeof)\b)"
    rb"[A-Za-z_]\w*(?:::\w+)*(?:[ \t]*\*+[ \t]*|[ \t]+(?:const[ \t]+)?)" + _MACRO + rb"[ \t\n]+"
    rb"(?=[A-Za-z_]\w*(?:::~?\w+)*[ \t]*\()"
)
"""What stands between a function's type and its name (a calling convention, an attribute), at the start of a line."""


def without_macros(source: bytes) -> bytes:
    """The source with blanks in place of such words. Its length is the same."""
    if not (spans := [match.span(1) for form in (_HEAD, _CALL) for match in form.finditer(source)]):
        return source
    left = bytearray(source)
    for first, end in spans:
        left[first:end] = re.sub(rb"[^\n]", b" ", source[first:end])
    return bytes(left)
