"""Detection of a text's edit format, by the first line that only one format has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from sandbox.lazy_pattern import compile_lazily
from tools.edit.formats.patch_format import parse_marker
from tools.edit.formats.search_replace import match_begin_marker, match_end_marker
from tools.edit.formats.unified_diff import is_file_header

Format = Literal["blocks", "patch", "diff"]

_RANGES = compile_lazily(r"@@+ ?-\d+(?:,\d+)? \+\d+(?:,\d+)?")


def detect_format(lines: Sequence[str]) -> Format | None:
    """Return the format whose sign comes first, None if there is no sign of any.

    A unified diff between `*** Begin Patch` and `*** End Patch` is a diff: its own headers name the files.
    """
    begun = False
    for _, form, is_envelope in _find_format_signs(lines):
        if not is_envelope:
            return form
        begun = True
    if begun:
        return "patch"
    return "diff" if any(line.startswith("@@ ") for line in lines) else None


def find_foreign_format(
    lines: Sequence[str], used: Sequence[tuple[int, int]], form: Format
) -> tuple[int, Format] | None:
    """Return the first sign of another format outside the parsed lines, with its line from 0."""
    ranges = iter([*used, (len(lines), len(lines))])
    begin, end = next(ranges)
    for at, other, is_envelope in _find_format_signs(lines):
        while at >= end:
            begin, end = next(ranges)
        if at < begin and other != form and not (is_envelope and form == "diff"):
            return at, other
    return None


def _find_format_signs(lines: Sequence[str]) -> Iterator[tuple[int, Format, bool]]:
    """Yield lines that begin or end a part of one format; True for a mere envelope of a patch."""
    for at, line in enumerate(lines):
        if match_begin_marker(line) or match_end_marker(line):
            yield at, "blocks", False
            continue
        if line.lstrip().startswith("***"):
            found = parse_marker(line)
            if found and found[0] in ("add", "update", "delete"):
                yield at, "patch", False
            elif found and found[0] in ("begin", "end"):
                yield at, "patch", True
        elif line.startswith("diff --git ") or is_file_header(lines, at) or _RANGES.match(line):
            yield at, "diff", False
