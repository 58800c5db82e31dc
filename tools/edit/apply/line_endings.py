"""Which line of a file's first text each line of its new one ends like: by what the edits did, not by how it reads.

Two equal lines may differ in their endings. Where one of them goes, the texts before and after do not tell which.
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.fs.text_file import pair_lines
from tools.edit.apply.splicing import TextSplice

Origins = tuple[int | None, ...]
"""For each line of a text, the line of the first one (from 0) whose ending it has; None if it is new."""


def create_origins(text: str) -> Origins:
    """The origins of a text that nobody has edited yet."""
    return tuple(range(text.count("\n") + 1))


def update_origins(origins: Origins, text: str, splices: Sequence[TextSplice]) -> Origins:
    """The origins of the text that these splices, in order, make of one whose origins are given.

    An ending outside of every splice stays where it is. Within one, lines that it keeps, and those in the place of
    others, have theirs.
    """
    found: list[int | None] = []
    line = offset = 0
    for splice in splices:
        untouched_ends = text.count("\n", offset, splice.start)
        found += origins[line : line + untouched_ends]
        line += untouched_ends
        old, new = text[splice.start : splice.end].split("\n"), splice.new.split("\n")
        ended = len(old) - 1  # the last piece goes on behind the splice, and so has its ending there
        of = {now: before for before, now in pair_lines(old, new) if before < ended}
        found += [origins[line + of[now]] if now in of else None for now in range(len(new) - 1)]
        line += ended
        offset = splice.end
    return (*found, *origins[line:])
