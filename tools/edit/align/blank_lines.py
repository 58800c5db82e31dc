"""Removal of blank lines of `old` that the file lacks, and of their repetitions in `new`."""

from __future__ import annotations

from collections.abc import Sequence

from tools.edit.refusal import AmbiguousEdit


def remove_absent_blank_lines(
    old: Sequence[str], new: Sequence[str], ghosts: Sequence[int]
) -> tuple[list[str], list[str]]:
    """Return both texts without the blank lines of `old` with these numbers.

    A blank line of `new` is removed if it is adjacent to the same line as in `old`. Raises AmbiguousEdit if
    there are several such places, or none can be identified because the adjacent lines are new.
    """
    kept_new = list(new)
    runs = _group_runs(ghosts)
    framed = len(runs) > 1 and runs[0][0] == 0 and runs[-1][1] == len(old)
    for first, end in reversed(runs):
        before = old[first - 1] if first else None
        after = old[end] if end < len(old) else None
        if after is None:
            _cut_end(kept_new, end - first, _count_trailing_blank(old))
        elif before is None:
            _cut_start(kept_new, end - first, after, framed)
        else:
            _cut_between(kept_new, end - first, before, after)
    gone = set(ghosts)
    return [line for i, line in enumerate(old) if i not in gone], kept_new


def _group_runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return runs


def _cut_start(lines: list[str], count: int, after: str | None, framed: bool) -> None:
    """Cut blank lines at the start: framed by blank lines a text is quoted; only leading ones may be an
    addition.
    """
    blank = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    if not blank:
        return
    if not framed and (blank != count or lines[blank : blank + 1] != [after]):
        raise AmbiguousEdit(
            "`old` begins with a blank line that the file has not: leave it out in both texts"
        )
    del lines[: min(blank, count)]


def _cut_end(lines: list[str], count: int, given: int) -> None:
    """Cut blank lines at the end. count: those at the end of `old` that the file lacks. given: all that `old`
    has there
    """
    blank = _count_trailing_blank(lines)
    if given - count < blank < given:
        raise AmbiguousEdit("`old` ends with a blank line that the file has not: leave it out in both texts")
    if blank >= given:
        del lines[len(lines) - count :]


def _count_trailing_blank(lines: Sequence[str]) -> int:
    return next((i for i, line in enumerate(reversed(lines)) if line.strip()), len(lines))


def _cut_between(lines: list[str], count: int, before: str, after: str) -> None:
    """Cut as many blank lines between these two, or adjacent to the remaining one of them."""
    blank = [
        i for i in range(len(lines) - count + 1) if not any(line.strip() for line in lines[i : i + count])
    ]
    above = {i for i in blank if i > 0 and lines[i - 1] == before}
    below = {i for i in blank if i + count < len(lines) and lines[i + count] == after}
    found = above & below or above | below
    if len(found) > 1:
        raise AmbiguousEdit("`old` has a blank line that the file has not: leave it out in both texts")
    for number in found:
        del lines[number : number + count]
