"""Unified diffs for a terminal: line counts, limits, colours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from cli.output.style.paint import Paint, Style
from cli.output.style.terminal import wrap_hanging
from sandbox.sanitize import sanitize_text


def count_diff_lines(diff: str) -> tuple[int, int]:
    """Return the number of lines added and removed."""
    body = list(_iterate_hunk_lines(diff))
    return sum(line.startswith("+") for line in body), sum(line.startswith("-") for line in body)


def paint_diff(diff: str, paint: Paint, *, limit: int, width: int = 0, indent: str = "") -> Iterator[str]:
    """Yield the diff's hunks, safe and coloured; after `limit` lines one that states how many are left out.

    The lines that name the file are omitted; the caller prints a heading. A line wider than `width` (0: no limit)
    is wrapped, indented under its text, not under the signs.
    """
    lines = list(_iterate_hunk_lines(diff))
    for line in _paint_lines(lines[:limit], paint):
        row = indent + line
        yield from wrap_hanging(row.replace("\t", "    "), width, f"{indent}  ") if width else [row]
    if len(lines) > limit:
        yield indent + paint(f"({len(lines) - limit} more lines; git diff shows all)", "dim")


def _paint_lines(lines: Sequence[str], paint: Paint) -> Iterator[str]:
    """Yield the painted lines; in equally long runs of removed and added lines, the changed words are highlighted."""
    place = 0
    while place < len(lines):
        old = _take_run(lines, place, "-")
        new = _take_run(lines, place + len(old), "+")
        if old and len(old) == len(new):
            pairs = [
                _paint_word_changes(before, after, paint) for before, after in zip(old, new, strict=True)
            ]
            yield from (before for before, _ in pairs)
            yield from (after for _, after in pairs)
            place += len(old) + len(new)
        else:
            yield _paint_line(sanitize_text(lines[place]), paint)
            place += 1


def _take_run(lines: Sequence[str], start: int, sign: str) -> list[str]:
    end = start
    while end < len(lines) and lines[end].startswith(sign):
        end += 1
    return list(lines[start:end])


LONGEST = 300
"""Maximum words of a line for the word diff: more takes too long."""

ALIKE = 0.4
"""Minimum similarity of two lines for the word diff: below that it is a different line."""


def _paint_word_changes(before: str, after: str, paint: Paint) -> tuple[str, str]:
    old, new = (_WORD.findall(sanitize_text(line[1:])) for line in (before, after))
    if max(len(old), len(new)) > LONGEST:
        return _paint_line(sanitize_text(before), paint), _paint_line(sanitize_text(after), paint)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < ALIKE:
        return _paint_line(sanitize_text(before), paint), _paint_line(sanitize_text(after), paint)
    left, right = [paint("-", "red")], [paint("+", "green")]
    for kind, a, b, c, d in matcher.get_opcodes():
        left.append(paint("".join(old[a:b]), "red" if kind == "equal" else "removed"))
        right.append(paint("".join(new[c:d]), "green" if kind == "equal" else "added"))
    return "".join(left), "".join(right)


_WORD = re.compile(r"\w+|\s+|.")

_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def _iterate_hunk_lines(diff: str) -> Iterator[str]:
    """Yield the lines of hunks, headers included, by the lengths in their headers: a removed line may look like one."""
    old = new = 0
    for line in diff.split("\n"):
        if old <= 0 and new <= 0:
            if match := _HUNK.match(line):
                old, new = int(match[1] or 1), int(match[2] or 1)
                yield line
            elif line.startswith("\\"):
                yield line
            continue
        old -= not line.startswith(("+", "\\"))
        new -= not line.startswith(("-", "\\"))
        yield line


_STYLES: tuple[tuple[str, Style], ...] = (("@@", "cyan"), ("+", "green"), ("-", "red"), ("\\", "dim"))


def _paint_line(line: str, paint: Paint) -> str:
    style = next((style for start, style in _STYLES if line.startswith(start)), None)
    return paint(line, style) if style else line
