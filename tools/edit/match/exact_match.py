"""Exact search for `old` in a text, and the nearest place when it does not occur."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

MAX_COMPARED = 4_000
"""Lines compared with `old` to find the nearest place: about 50 ms; beyond, those near a line of it."""

LONGEST = 400
"""Characters of a line that are compared to find the nearest place: its beginning identifies it."""

NEAR_ENOUGH = 0.5
"""Similarity from which a place is worth showing; below it is chance."""

_WORD = compile_lazily(r"\w")
_OWNER = compile_lazily(
    r"^(?P<indent>\s*)(?:export\s+|default\s+|pub(?:\([^)]*\))?\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|abstract\s+)*"
    r"(?P<head>(?:def|class|function|func|fn|impl|interface|struct|enum|trait|module|namespace)\b[^{:]*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The part of a text most similar to `old`: its first line (from 1), its lines, and the similarity from 0
    to 1.
    """

    line: int
    lines: tuple[str, ...]
    likeness: float


def find_occurrences(text: str, old: str) -> list[int]:
    """Return the offsets at which `old` occurs, overlapping ones included.

    An identifier is not cut in two: `x = 1` does not occur in `maxx = 1`, nor in `x = 10`.
    """
    found: list[int] = []
    offset = text.find(old)
    while offset >= 0:
        if has_word_boundaries(text, offset, offset + len(old)):
            found.append(offset)
        offset = text.find(old, offset + 1)
    return found


def select_disjoint(offsets: Sequence[int], length: int) -> list[int]:
    """Return the offsets that can be replaced together: from the first on, without overlaps."""
    chosen: list[int] = []
    for offset in offsets:
        if not chosen or offset >= chosen[-1] + length:
            chosen.append(offset)
    return chosen


def has_word_boundaries(text: str, start: int, end: int) -> bool:
    """Return whether neither end of this part of a text cuts an identifier."""
    if start >= end:
        return True
    cut_before = start > 0 and _WORD.match(text[start]) and _WORD.match(text[start - 1])
    cut_after = end < len(text) and _WORD.match(text[end - 1]) and _WORD.match(text[end])
    return not (cut_before or cut_after)


def find_whole_lines(text: str, lines: Sequence[str]) -> list[int]:
    """Return the line numbers, from 0, at which these lines occur exactly, as whole lines."""
    if not lines:
        return []
    block = "\n".join(lines)
    found = []
    number = counted = 0
    offset = text.find(block)
    while offset >= 0:
        end = offset + len(block)
        starts = offset == 0 or text[offset - 1] == "\n"
        behind_all = end == len(text) and lines[-1] == "" and text  # there is no line after the last newline
        if starts and (end == len(text) or text[end] == "\n") and not behind_all:
            number += text.count("\n", counted, offset)
            counted = offset
            found.append(number)
        newline = text.find("\n", offset)
        offset = text.find(block, newline + 1) if newline >= 0 else -1
    return found


def line_number_at(text: str, offset: int) -> int:
    """Return the line number, from 1, of an offset."""
    return text.count("\n", 0, offset) + 1


def describe_enclosing_scope(lines: Sequence[str], number: int) -> str:
    """Return the function and class around a line, by indentation, e.g. "class Cart, def total(self)"."""
    at = lines[number - 1] if number <= len(lines) else ""
    indent = len(at) - len(at.lstrip()) if at.strip() else 10_000
    heads: list[str] = []
    for line in reversed(lines[: number - 1]):
        match = _OWNER.match(line)
        if match and len(match["indent"]) < indent:
            indent = len(match["indent"])
            heads.insert(0, match["head"].strip())
        if indent == 0:
            break
    return ", ".join(heads[-2:])


def find_nearest(text: str, old: str) -> Nearest | None:
    """Return the lines most similar to those of `old`, None when nothing is near."""
    import difflib

    wanted = [line.strip()[:LONGEST] for line in old.strip("\n").split("\n")]
    lines = text.split("\n")
    stripped = [line.strip()[:LONGEST] for line in lines]
    size = len(wanted)
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2("\n".join(wanted))
    best = Nearest(line=0, lines=(), likeness=0.0)
    for start in _list_start_lines(stripped, wanted):
        part = "\n".join(stripped[start : start + size])
        matcher.set_seq1(part)
        if matcher.real_quick_ratio() <= best.likeness or matcher.quick_ratio() <= best.likeness:
            continue
        likeness = matcher.ratio()
        if likeness > best.likeness:
            best = Nearest(line=start + 1, lines=tuple(lines[start : start + size]), likeness=likeness)
    return best if best.likeness >= NEAR_ENOUGH else None


def _list_start_lines(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return where a comparison may begin: anywhere in a short text, in a long one near lines of `old`."""
    last = max(len(lines) - len(wanted), 0)
    if len(lines) <= MAX_COMPARED and len(wanted) <= 40:
        return list(range(last + 1))
    places = {line: index for index, line in reversed(list(enumerate(wanted))) if len(line) > 3}
    starts = {number - places[line] for number, line in enumerate(lines) if line in places}
    return sorted(start for start in starts if 0 <= start <= last)[:200]
