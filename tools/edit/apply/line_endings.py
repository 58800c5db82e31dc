"""Line endings in an edit: the origin of each line's own after it, tracked through the splices, not by comparing texts.

Two equal lines may differ in their endings. If one of them is removed, the texts before and after do not show
which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sandbox.fs.text_file import TextFile, pair_lines
from tools.edit.edit_model import Edit, Hunk, Line
from tools.edit.splicing import TextSplice

Origins = tuple[int | None, ...]
"""For each line of a text, the line of the original (from 0) whose ending it has; None if it is new."""


def create_origins(text: str) -> Origins:
    """Return the origins of an unedited text."""
    return tuple(range(text.count("\n") + 1))


def update_origins(origins: Origins, text: str, splices: Sequence[TextSplice]) -> Origins:
    """Return the origins after these splices, given in order, are applied to a text with known origins.

    An ending outside of every splice is unchanged. Within one, lines that it keeps, and those in the place of
    others, have theirs.
    """
    found: list[int | None] = []
    line = offset = 0
    for splice in splices:
        untouched_ends = text.count("\n", offset, splice.start)
        found += origins[line : line + untouched_ends]
        line += untouched_ends
        old, new = text[splice.start : splice.end].split("\n"), splice.new.split("\n")
        ended = len(old) - 1  # the last piece continues after the splice, and has its ending there
        of = {now: before for before, now in pair_lines(old, new) if before < ended}
        found += [origins[line + of[now]] if now in of else None for now in range(len(new) - 1)]
        line += ended
        offset = splice.end
    return (*found, *origins[line:])


def strip_carriage_returns(edits: Sequence[Edit], file: TextFile | None) -> Sequence[Edit]:
    """Strip the CR of each line in a diff of a CRLF file, whose decoded text has none."""
    if file is None or "\r\n" not in (file.newline, *file.exceptions.values()):
        return edits
    return [
        replace(each, lines=tuple(Line(op, text.removesuffix("\r")) for op, text in each.lines))
        if isinstance(each, Hunk)
        else each
        for each in edits
    ]
