"""Logical lines of code: a line with those that its open brackets need, in any language with brackets and quotes."""

from __future__ import annotations

from sandbox.lazy_pattern import compile_lazily

_PARTS = compile_lazily(r"""'(?:[^'\\\n]|\\.)*+'?|"(?:[^"\\\n]|\\.)*+"?|[(\[{]|[)\]}]|\n""")
"""Strings of one line, perhaps cut off, which may hold brackets; brackets; ends of lines."""


def measure_logical_line(text: str) -> int | None:
    """Return the length of the first line, longer by those in which its brackets are closed; None if they never are.

    Brackets that close what was opened before the text end no line.
    """
    depth = 0
    for found in _PARTS.finditer(text):
        part = found[0]
        if part == "\n" and depth <= 0:
            return found.start()
        depth += (part in "([{") - (part in ")]}")
    return len(text) if depth <= 0 else None
