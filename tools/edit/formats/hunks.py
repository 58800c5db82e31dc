"""Hunks, as the patch format and unified diffs share them: their heads (`@@ …`) and their lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.edit.edit_model import Hunk, Line, Op
from tools.edit.formats.parse_errors import build_malformed_edit, quote_line

_RANGES = compile_lazily(
    r"@@\s*-\s?(\d{1,9})(?:\s?,\s?(\d{1,9}))?\s+\+\s?(\d{1,9})(?:\s?,\s?(\d{1,9}))?\s*(?:@@(.*))?\Z",
    re.DOTALL,
)
_NO_HEAD = compile_lazily(
    r"(?:[-+\d,.…:\s]*|(?:at |around |near )?lines? ?(?:numbers?|[-\d,–]+(?: to \d+)?)?)\Z", re.IGNORECASE
)
"""Text between two `@@` when the model gives no numbers, or only some: "...", "-12", "line 12"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A parsed `@@` line. old, new: (first line, count) in the file before and after, None if not stated.

    name: a line that precedes the hunk, "" if none is given
    """

    name: str
    old: tuple[int, int] | None = None
    new: tuple[int, int] | None = None


def is_hunk_header(line: str) -> bool:
    """Return whether a line begins a hunk; `@@@` does not (see `unified_diff`)."""
    return line.startswith("@@") and not line.startswith("@@@")


def parse_hunk_header(line: str) -> Head:
    """Parse a line that begins with `@@`."""
    line = line.rstrip()
    ranges = _RANGES.match(line)
    if ranges:
        first, count, new_first, new_count, section = ranges.groups()
        return Head(
            name=_parse_head_name(section or ""),
            old=(int(first), 1 if count is None else int(count)),
            new=(int(new_first), 1 if new_count is None else int(new_count)),
        )
    inside = line[2:]
    before, marks, after = inside.rpartition("@@")
    if marks and (before == "" or before[-1] == " "):
        inside = after if after.strip() and _NO_HEAD.match(before.strip()) else before.rstrip()
    return Head(name=_parse_head_name(inside))


def _parse_head_name(text: str) -> str:
    text = text[1:] if text.startswith(" ") else text
    return "" if _NO_HEAD.match(text.strip()) else text.rstrip()


def build_hunk(body: Sequence[str], number: int, heads: Sequence[Head], example: str) -> Hunk:
    """Build a hunk from its lines. Raises MalformedEdit.

    number: of the first of them, from 0
    heads: of the `@@` lines before them, outermost first; the last of these with numbers states the position
    """
    lines, ends = _parse_lines(body, number, example)
    if all(op == " " for op, _ in lines):
        found = (
            f"lines {number + 1} to {number + len(body)} change nothing" if body else "a hunk has no lines"
        )
        raise build_malformed_edit(number, f"{found}: a hunk needs lines that begin with '-' or '+'", example)
    ranged = next((head for head in reversed(heads) if head.old and head.new), None)
    old_count = sum(op != "+" for op, _ in lines)
    new_count = sum(op != "-" for op, _ in lines)
    start, counted = None, False
    if ranged and ranged.old and ranged.new:
        counted = (ranged.old[1], ranged.new[1]) == (old_count, new_count)
        start = max(ranged.old[0] + (counted and old_count == 0), 1)
    return Hunk(
        lines=lines,
        heads=tuple(head.name for head in heads if head.name and not (head is ranged and counted)),
        start=start,
        counted=counted,
        no_newline=ends,
    )


def is_no_newline_marker(line: str) -> bool:
    """Return whether a line is `\\ No newline at end of file`, in whatever language."""
    return line.startswith(("\\ ", "\\No newline"))


def read_line_mark(line: str) -> str:
    """Return the mark of a line: " ", "-", "+", "\\\\" (no newline), "" for an empty line, "?" for one
    without a mark.
    """
    if not line:
        return ""
    if is_no_newline_marker(line):
        return "\\"
    return line[0] if line[0] in " -+" else "?"


def find_body_end(body: Sequence[str]) -> int:
    """Return how many lines remain without the empty ones at the end, and the prose after an empty line.

    A line that lost its mark directly after the others stays: it is context.
    """
    end = len(body)
    while end and read_line_mark(body[end - 1]) in ("", "?"):
        end -= 1
    while end < len(body) and body[end]:
        end += 1
    return end


def _parse_lines(body: Sequence[str], number: int, example: str) -> tuple[tuple[Line, ...], _Unended]:
    """Parse the lines of a hunk, and the side without a final newline: before ("-"), after ("+") or both ("
    ").
    """
    lines: list[Line] = []
    ends: set[Literal["-", "+"]] = set()
    bare = _has_lost_marks(body)
    for offset, line in enumerate(body):
        match read_line_mark(line):
            case "\\":
                if not lines:
                    raise build_malformed_edit(
                        number + offset, f"{quote_line(line)} stands before any line of the hunk", example
                    )
                ends |= _SIDES[lines[-1].op]
            case "" | "?":
                lines.append(Line(" ", line))
            case " ":
                lines.append(Line(" ", line if bare else line[1:]))
            case "-":
                lines.append(Line("-", line[1:]))
            case _:
                lines.append(Line("+", line[1:]))
    return tuple(lines), " " if len(ends) == 2 else ends.pop() if ends else ""


_Unended = Literal["", " ", "-", "+"]
_SIDES: dict[Op, set[Literal["-", "+"]]] = {" ": {"-", "+"}, "-": {"-"}, "+": {"+"}}
"""Files, before and after, that contain a line."""


def _has_lost_marks(body: Sequence[str]) -> bool:
    """Return whether all context lines lost their mark, not only those that show it.

    When some did, the others that begin with a space decide: code is indented by an even number of spaces, so
    an odd number includes the mark.
    """
    if not any(read_line_mark(line) == "?" for line in body):
        return False
    indents = [len(line) - len(line.lstrip(" ")) for line in body if line.startswith(" ") and line.strip()]
    return sum(indent % 2 == 0 for indent in indents) > sum(indent % 2 for indent in indents)
