"""Unified diffs for a terminal: counted, bounded, coloured."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cli.render.paint import Paint, Style
from sandbox.inert import inert


def counts(diff: str) -> tuple[int, int]:
    """Lines added and removed."""
    body = list(_hunks(diff))
    return sum(line.startswith("+") for line in body), sum(line.startswith("-") for line in body)


def painted(diff: str, paint: Paint, *, limit: int, indent: str = "") -> Iterator[str]:
    """The diff's hunks, safe and coloured; after `limit` lines one that says how many are left out.

    The lines that name the file are left to the caller's own heading.
    """
    lines = list(_hunks(diff))
    for line in lines[:limit]:
        yield indent + _painted(inert(line), paint)
    if len(lines) > limit:
        yield indent + paint(f"({len(lines) - limit} more lines; git diff shows all)", "dim")


_HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def _hunks(diff: str) -> Iterator[str]:
    """Lines inside hunks. Their announced lengths decide, since a removed line may look like a header."""
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


def _painted(line: str, paint: Paint) -> str:
    style = next((style for start, style in _STYLES if line.startswith(start)), None)
    return paint(line, style) if style else line
