"""Merge a hunk into a site: context keeps the file's bytes, added lines adopt the file's style."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tools.edit.adapt.style_adapter import StyleAdapter
from tools.edit.edit_model import Line
from tools.edit.formats.placeholders import is_omission
from tools.edit.match.ambiguous import AmbiguousEdit
from tools.edit.match.matchers import Rung, Site, Source

NEAR = 3
"""Lines around the matched ones that are searched for a line that `old` has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSplice:
    """Replacement of the lines `first` to `end` (not included, from 0) of a file by `lines`."""

    first: int
    end: int
    lines: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Block:
    """Adjacent removed and added lines, and the file's rows of the context before and after them.

    torn: a line of context within it, or directly after it, is not in the file
    loose: the line of context directly before it is not in the file
    ghost: an adjacent blank line of context is not in the file; ghost_first: one before the block
    lost: blank lines to be removed that are not in the file
    """

    removed: list[int]
    added: list[int]
    before: int | None
    after: int | None = None
    torn: bool = False
    loose: bool = False
    ghost: bool = False
    ghost_first: bool = False
    lost: list[int] = field(default_factory=list)


def build_splices(source: Source, lines: Sequence[Line], site: Site, rung: Rung) -> list[LineSplice]:
    """Build the splices of a hunk whose old lines were found at a site. Raises AmbiguousEdit."""
    old_numbers = [i for i, line in enumerate(lines) if line.op != "+"]
    row_of = {old_numbers[wanted]: row for wanted, row in site.pairs}
    adapt = StyleAdapter(source, lines, row_of, rung)
    found = []
    if any(line.op == "-" and is_omission(line.text) and i not in row_of for i, line in enumerate(lines)):
        raise AmbiguousEdit(
            "`old` leaves lines out (...), and whether `new` is to keep them is not clear: give them all"
        )
    _refuse_skipped_lines(source, lines, site, row_of)
    framed = _is_framed_by_blanks(lines, row_of)
    for block in _split_blocks(lines, row_of):
        blank = any(not lines[i].text.strip() for i in block.added)
        inside = block.removed and (block.before is not None or not block.ghost_first)
        if (block.ghost and block.added and not framed and not (inside and not blank)) or (
            block.lost and (blank or _may_exist_in_file(source, block.lost, row_of))
        ):
            raise AmbiguousEdit(
                "`old` has a blank line that the file has not, beside the lines to add: leave it out"
            )
        first, end = _find_replaced_range(source, lines, block, row_of)
        found.append(
            LineSplice(first=first, end=end, lines=tuple(adapt.adapt_lines(block.removed, block.added)))
        )
    return found


def refuse_invented_line(lines: Sequence[Line], site: Site) -> None:
    """Raise AmbiguousEdit if both texts have a line that the file lacks and `new` has one more of it.

    For lines made of two texts: it is undecidable which of them is invented and which is to be added.
    """
    paired = {number for number, _ in site.pairs}
    added = {line.text.strip() for line in lines if line.op == "+"} - {""}
    for number, line in enumerate(line for line in lines if line.op != "+"):
        if line.op == " " and number not in paired and line.text.strip() in added:
            raise AmbiguousEdit(
                f"the file has no {line.text.strip()[:60]!r} there, and `new` has several: leave it out"
            )


def refuse_floating_change(source: Source, lines: Sequence[Line], site: Site) -> None:
    """Raise AmbiguousEdit if a file line that `old` skips separates a change from a line that occurs several
    times.

    For lines made of two texts: only the marks of a diff could say which of these it is adjacent to in `new`.
    """
    numbers = [i for i, line in enumerate(lines) if line.op != "+"]
    at = {row: numbers[number] for number, row in site.pairs}
    sides = [[line.text.strip() for line in lines if line.op != op] for op in "+-"]
    for row in range(site.first, site.end):
        if row in at or not source.lines[row].strip() or _is_elided_row(lines, site, row):
            continue
        beside = [at[each] for each in (row - 1, row + 1) if each in at]
        kept = [i for i in beside if lines[i].op == " " and lines[i].text.strip()]
        if len(kept) == 1 and any(side.count(lines[kept[0]].text.strip()) > 1 for side in sides):
            raise AmbiguousEdit(
                f"line {row + 1} ({source.lines[row].strip()[:60]!r}) is missing from `old`: give it in both"
            )


def refuse_sliding_removal(source: Source, lines: Sequence[Line], site: Site) -> None:
    """Raise AmbiguousEdit if it is unclear which of two equal lines a removal keeps.

    For lines made of two texts, some only removed: the line before or after them equals one at their other
    end in `old`, but differs from it in the file, so either may be the one that stays.
    """
    numbers = [i for i, line in enumerate(lines) if line.op != "+"]
    row_of = {numbers[number]: row for number, row in site.pairs}
    for i, j in pairwise(
        i for i, line in enumerate([Line(" ", ""), *lines, Line(" ", "")]) if line.op == " "
    ):
        first, last = i, j - 2  # of the lines between two lines of context
        if any(line.op == "+" for line in lines[first : last + 1]):
            continue
        for kept, gone in ((first - 1, last), (last + 1, first)):
            if kept in row_of and gone in row_of and kept != gone and lines[kept].text == lines[gone].text:
                one, other = source.lines[row_of[kept]], source.lines[row_of[gone]]
                if first <= last and one != other:
                    raise AmbiguousEdit(
                        f"{one.strip()[:60]!r} and a line like it are unlike in the file: give both so"
                    )


def refuse_moved_first_line(source: Source, lines: Sequence[Line], site: Site, *, marked: bool) -> None:
    """Raise AmbiguousEdit if only the first old line lacks indentation and recurs further down in `new`,
    where it may be another line, or the same one moved. marked: the lines are those of a diff, which states
    which lines stay
    """
    old = [line.text for line in lines if line.op != "+"]
    new = [line.text for line in lines if line.op != "-" and line.text.strip()]
    if marked:
        new = [*new[:1], *(line.text for line in lines if line.op == "+" and line.text not in new[:1])]
    filled = [(old[number], source.lines[row]) for number, row in site.pairs if old[number].strip()]
    if len(filled) < 2 or not new or any(mine.rstrip() != there.rstrip() for mine, there in filled[1:]):
        return
    first, there = filled[0]
    if (
        first.strip() == there.strip()
        and first.rstrip() != there.rstrip()
        and first in new[1:]
        and new[0] != first
    ):
        raise AmbiguousEdit(
            f"{first.strip()[:60]!r} lacks its indentation, and stands further down in `new`: give it"
        )


def _refuse_skipped_lines(source: Source, lines: Sequence[Line], site: Site, row_of: dict[int, int]) -> None:
    """Raise AmbiguousEdit for a line that `old` skips and `new` contains: moved, or forgotten once, so that
    its count is unclear; also for a skipped line whose neighbours are moved: it may move with them, or stay.
    """
    added = {line.text.strip() for line in lines if line.op == "+"} - {""}
    moved = {row for i, row in row_of.items() if lines[i].op == "-" and lines[i].text.strip() in added}
    seen = {row for _, row in site.pairs}
    for row in range(site.first, site.end):
        if row in seen or not source.lines[row].strip() or _is_elided_row(lines, site, row):
            continue
        if source.lines[row].strip() in added or not moved.isdisjoint((row - 1, row + 1)):
            raise AmbiguousEdit(
                f"line {row + 1} ({source.lines[row].strip()[:60]!r}) is missing from `old`: give it in both"
            )


def _is_elided_row(lines: Sequence[Line], site: Site, row: int) -> bool:
    """Return whether the file line is at a place where `old` elides lines."""
    old = [line.text for line in lines if line.op != "+"]
    above = max((number for number, there in site.pairs if there < row), default=0)
    below = min((number for number, there in site.pairs if there > row), default=len(old))
    return any(is_omission(text) for text in old[above:below])


def _split_blocks(lines: Sequence[Line], row_of: dict[int, int]) -> Iterator[_Block]:
    block: _Block | None = None
    last: int | None = None
    ghost = loose = False
    for i, line in enumerate(lines):
        if line.op == " ":
            if i not in row_of:
                ghost = ghost or not line.text.strip()
                loose = loose or bool(line.text.strip())
                if block:
                    block.ghost = block.ghost or ghost
                    block.torn = block.torn or bool(line.text.strip())
                if is_omission(line.text):  # the next lines are somewhere else
                    if block:
                        yield block
                    block, last, ghost, loose = None, None, False, False
                continue  # else a blank or invented line: it has no counterpart in the file
            if block:
                block.after = row_of[i]
                yield block
                block = None
            last, ghost, loose = row_of[i], False, False
            continue
        if block and block.torn:
            raise AmbiguousEdit(
                "a line between those to change is not in the file: give it as the file has it"
            )
        block = block or _Block(
            removed=[], added=[], before=last, loose=loose, ghost=ghost, ghost_first=ghost
        )
        if line.op == "+":
            block.added.append(i)
        elif i in row_of:
            block.removed.append(i)
        elif not line.text.strip():
            block.lost.append(i)
    if block:
        yield block


def _may_exist_in_file(source: Source, lost: Sequence[int], row_of: dict[int, int]) -> bool:
    """Return whether a removed blank line that was not matched may be a blank line of the file, between
    matched lines or near them.
    """
    known, size = set(row_of.values()), len(source.lines)
    for number in lost:
        above = max((row for i, row in row_of.items() if i < number), default=None)
        below = min((row for i, row in row_of.items() if i > number), default=None)
        first = above + 1 if above is not None else max((below or 0) - NEAR, 0)
        end = below if below is not None else min((size if above is None else above + 1) + NEAR, size)
        if not all(source.lines[row].strip() for row in set(range(first, end)) - known):
            return True
    return False


def _is_framed_by_blanks(lines: Sequence[Line], row_of: dict[int, int]) -> bool:
    """Return whether both texts begin and end with a blank line that the file lacks: a model's way to quote."""
    ends = (0, len(lines) - 1)
    return all(lines[i].op == " " and not lines[i].text.strip() and i not in row_of for i in ends)


def _find_replaced_range(
    source: Source, lines: Sequence[Line], block: _Block, row_of: dict[int, int]
) -> tuple[int, int]:
    """Return the range of the file's lines that a block replaces. Raises AmbiguousEdit."""
    if block.removed:
        rows = [row_of[i] for i in block.removed]
        within = set(range(rows[0], rows[-1] + 1)) - set(rows)
        if within:
            raise AmbiguousEdit(
                "lines that `old` does not have stand between those to replace: give them, too"
            )
        for edge in (rows[0] - 1, rows[-1] + 1):
            inside = block.before is not None and block.before < edge < rows[0]
            inside |= block.after is not None and rows[-1] < edge < block.after
            if inside and not source.lines[edge].strip():
                raise AmbiguousEdit(
                    f"line {edge + 1} is blank, and whether it stays is not clear: give it in `old`, too"
                )
            if inside and len(block.added) > len(block.removed):
                raise AmbiguousEdit(
                    f"line {edge + 1}, which `old` does not have, stands beside lines to add: give it, too"
                )
        return rows[0], rows[-1] + 1
    if block.before is None and block.after is None:
        raise AmbiguousEdit("it adds lines, but no line of the file says where")
    beside = block.before is not None and block.after == block.before + 1
    if not beside and (block.before is None or block.loose) and (block.after is None or block.torn):
        raise AmbiguousEdit(
            "the lines beside those to add are not in the file: give them as the file has them"
        )
    if block.before is None:
        assert block.after is not None
        return block.after, block.after
    if block.after is None or block.after == block.before + 1:
        return block.before + 1, block.before + 1
    gap = source.lines[block.before + 1 : block.after]
    if any(line.strip() for line in gap):
        raise AmbiguousEdit("lines that `old` does not have stand where it adds some")
    starts_blank = not lines[block.added[0]].text.strip()
    ends_blank = not lines[block.added[-1]].text.strip()
    if starts_blank == ends_blank:
        raise AmbiguousEdit(
            "the file has a blank line there: give it too, so that it is clear on which side to add"
        )
    return (block.before + 1, block.before + 1) if starts_blank else (block.after, block.after)
