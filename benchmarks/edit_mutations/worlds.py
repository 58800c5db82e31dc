"""Small made-up files and edits of them, on which explanations collide far more often than in any history.

Few lines, of few kinds, that repeat one another, stand at several depths and beside blank lines: what a rule of the
engine overlooks shows here within some thousand edits. In real files it does once in hundreds of hunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from benchmarks.edit_mutations.catalogue import Case
from benchmarks.edit_mutations.draft import Draft, Source, Text, new_lines, old_lines
from tools.edit.edit_model import Line
from tools.edit.hunk_diff import diff_lines

KINDS = (
    "alpha(one);",
    "beta = gamma",
    'call("two", one)',
    "return beta",
    "}",
    "end",
    "if (alpha) {",
    "",
    "",
    "# note one two",
    "* item three",
    "else:",
    "// words of it",
    "delta,",
)
"""Lines of files; blank ones are frequent."""

FRESH = (
    "fresh(one);",
    "if fresh {",
    "}",
    "",
    "alpha(one, two);",
    "return fresh",
    "# new words",
    "alpha(one);",
    "beta = gamma",
    "end",
    "* item new",
    "fresh:",
)
"""Lines that edits bring; some are in the files as well."""

NAMES = ("a.js", "a.txt", "a.c", "a.md", "a.rb")


class _Depth:
    """Lines are deeper behind one that opens a block, and less deep where one ends."""

    def __init__(self, rng: Random, unit: str, above: Sequence[str] = ()) -> None:
        last = above[-1] if above else ""
        self._rng, self._unit = rng, unit
        self._depth = (len(last) - len(last.lstrip())) // len(unit) if above else rng.randint(0, 2)
        self._opened = last.rstrip().endswith(("{", ":"))

    def of(self, text: str) -> str:
        """The line with its indentation; a blank one has none."""
        if not text:
            return ""
        if self._opened:
            self._depth += 1
        elif text in ("}", "end", "else:") or self._rng.random() < 0.2:
            self._depth = max(0, self._depth - 1)
        self._opened = text.endswith(("{", ":"))
        return self._unit * self._depth + text


def world(rng: Random) -> Draft | None:
    """A file of one to seven lines, alone or amid others, and an edit of it; None if it changes nothing or quotes
    nothing."""
    unit = rng.choice(("  ", "    ", "\t"))
    kinds = rng.sample(KINDS, rng.randint(2, 6))
    depth = _Depth(rng, unit)
    lines = [depth.of(rng.choice(kinds)) for _ in range(rng.randint(1, 7))]
    lines = [line + " " if line and rng.random() < 0.05 else line for line in lines]
    size = len(lines)
    first = rng.randint(0, size)
    end = min(size, first + rng.choice((0, 0, 1, 1, 1, 2, 3)))
    depth = _Depth(rng, unit, [line for line in lines[:first] if line])
    count = rng.choice((0, 1, 1, 2, 2, 3)) if end > first else rng.randint(1, 3)
    fresh = [depth.of(rng.choice((*FRESH, *kinds))) for _ in range(count)]
    before, after = rng.randint(0, min(first, 3)), rng.randint(0, min(size - end, 3))
    old = lines[first - before : end + after]
    new = [*lines[first - before : first], *fresh, *lines[end : end + after]]
    if old == new or not any(old):
        return None
    around = rng.choice((0, 0, 8))
    head, tail = ([f"{name}_{i} = {i}" for i in range(around)] for name in ("head", "tail"))
    ended = bool(around) or not lines[-1] or not (new or [""])[-1] or rng.random() < 0.9
    source = Source(
        repository="worlds", commit="", path=rng.choice(NAMES), newline="\n", final_newline=ended, bom=b""
    )
    marked: tuple[Line, ...] = tuple(diff_lines(old, new))
    text = Text([*head, *lines, *tail])
    return Draft(source=source, text=text, start=around + first - before, truth=marked, given=marked)


def by_shape(case: Case) -> bool:
    """One line is quoted without its indentation, and others come: how deep these are is read from the shape of code,
    which made-up lines have not."""
    old, there = (
        [line for line in old_lines(ops) if line.strip()] for ops in (case.draft.given, case.draft.truth)
    )
    fresh = any(line.op == "+" and line.text.strip() for line in case.draft.given)
    return len(old) == 1 and fresh and old[0][:1] != there[0][:1]


def within_a_line(case: Case) -> bool:
    """One line for one, of which the file's has white space at its end: as a part of that it stands to the letter, so
    that the white space stays."""
    old, there, new = (
        [line for line in lines if line.strip()]
        for lines in (old_lines(case.draft.given), old_lines(case.draft.truth), new_lines(case.draft.given))
    )
    return len(old) == len(new) == 1 and there[0] != there[0].rstrip()


def ends_blank(case: Case) -> bool:
    """The last line that is quoted, or that is to stand there, is blank: an argument without its last line end does
    not tell that."""
    return any(
        side and not side[-1].strip() for side in (old_lines(case.draft.given), new_lines(case.draft.given))
    )
