"""Two texts as the lines of a diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sandbox.matching import opcodes
from tools.edit.changes import Line


def diffed(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    """What both have is context."""
    for tag, a, b, c, d in opcodes(old, new):
        if tag == "equal":
            yield from (Line(" ", text) for text in old[a:b])
        else:
            yield from (Line("-", text) for text in old[a:b])
            yield from (Line("+", text) for text in new[c:d])
