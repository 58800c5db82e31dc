"""Slips that leave it open which lines of the file the edit's lines are: each check raises AmbiguousEdit."""

from __future__ import annotations

from itertools import pairwise

from tools.edit.edit_model import Line
from tools.edit.formats.placeholders import is_omission
from tools.edit.match.matchers import has_distinctive_word
from tools.edit.refusal import AmbiguousEdit
from tools.edit.stage_values import LineAlignment, PartAlignment


def refuse_torn_line(part: PartAlignment) -> None:
    """Whole lines are added next to a part of a line: that would tear words off it, and another place where
    the part is a whole line may be meant.
    """
    old, new = part.reading.old.strip("\n"), part.reading.new.strip("\n")
    before, behind = part.source.before(part.start), part.source.behind(part.end)
    if "\n" in old or part.literal:
        return
    if (new.startswith(f"{old}\n") and has_distinctive_word(behind)) or (
        new.endswith(f"\n{old}") and has_distinctive_word(before)
    ):
        raise AmbiguousEdit("is a part of it, and `new` has lines beside it: give the whole line")


def refuse_invented_line(aligned: LineAlignment) -> None:
    """Both texts have a line that the file lacks and `new` has one more of it: which of them is invented?"""
    if aligned.hunk.given:
        return
    added = {text.strip() for text in aligned.added} - {""}
    for i in aligned.old_numbers:
        op, text = aligned.lines[i]
        if op == " " and i not in aligned.row_of and text.strip() in added:
            raise AmbiguousEdit(
                f"the file has no {text.strip()[:60]!r} there, and `new` has several: leave it out"
            )


def refuse_floating_change(aligned: LineAlignment) -> None:
    """A file line that `old` skips separates a change from a line that occurs several times: only the marks of
    a diff could say which of these it is adjacent to in `new`.
    """
    if aligned.hunk.given:
        return
    lines, at = aligned.lines, {row: i for i, row in aligned.row_of.items()}
    sides = [[line.text.strip() for line in lines if line.op != op] for op in "+-"]
    for row in _list_skipped_rows(aligned):
        beside = [at[each] for each in (row - 1, row + 1) if each in at]
        kept = [i for i in beside if lines[i].op == " " and lines[i].text.strip()]
        if len(kept) == 1 and any(side.count(lines[kept[0]].text.strip()) > 1 for side in sides):
            raise _build_missing_line(aligned, row)


def refuse_sliding_removal(aligned: LineAlignment) -> None:
    """Lines are only removed, and the line before or after them equals one at their other end in `old`, but
    differs from it in the file: either may be the one that stays.
    """
    if aligned.hunk.given:
        return
    lines, rows = aligned.lines, aligned.row_of
    framed = [Line(" ", ""), *lines, Line(" ", "")]
    for i, j in pairwise(i for i, line in enumerate(framed) if line.op == " "):
        first, last = i, j - 2  # of the lines between two lines of context
        if first > last or any(line.op == "+" for line in lines[first : last + 1]):
            continue
        for kept, gone in ((first - 1, last), (last + 1, first)):
            if kept in rows and gone in rows and lines[kept].text == lines[gone].text:
                one, other = aligned.source.lines[rows[kept]], aligned.source.lines[rows[gone]]
                if one != other:
                    raise AmbiguousEdit(
                        f"{one.strip()[:60]!r} and a line like it are unlike in the file: give both so"
                    )


def refuse_moved_first_line(aligned: LineAlignment) -> None:
    """Only the first old line lacks indentation and recurs further down in `new`, where it may be another
    line, or the same one moved. A diff states which lines stay.
    """
    new = [line.text for line in aligned.new_lines]
    if aligned.hunk.given:
        new = [*new[:1], *(text for text in aligned.added if text not in new[:1])]
    rows = aligned.row_of
    filled = [(aligned.lines[i].text, aligned.source.lines[rows[i]]) for i in aligned.indents]
    if len(filled) < 2 or not new or any(mine.rstrip() != there.rstrip() for mine, there in filled[1:]):
        return
    first, there = filled[0]
    moved = first in new[1:] and new[0] != first
    if moved and first.strip() == there.strip() and first.rstrip() != there.rstrip():
        raise AmbiguousEdit(
            f"{first.strip()[:60]!r} lacks its indentation, and stands further down in `new`: give it"
        )


def refuse_elided_removal(aligned: LineAlignment) -> None:
    """Dots in `old` are removed: `new` may keep the lines in their place, or not."""
    if any(
        line.op == "-" and is_omission(line.text) and i not in aligned.row_of
        for i, line in enumerate(aligned.lines)
    ):
        raise AmbiguousEdit(
            "`old` leaves lines out (...), and whether `new` is to keep them is not clear: give them all"
        )


def refuse_skipped_lines(aligned: LineAlignment) -> None:
    """`new` contains a line that `old` skips: moved, or forgotten once, so that its count is unclear; or the
    neighbours of a skipped line are moved: it may move with them, or stay.
    """
    rows, lines = aligned.row_of, aligned.lines
    added = {text.strip() for text in aligned.added} - {""}
    moved = {row for i, row in rows.items() if lines[i].op == "-" and lines[i].text.strip() in added}
    for row in _list_skipped_rows(aligned):
        if aligned.source.lines[row].strip() in added or not moved.isdisjoint((row - 1, row + 1)):
            raise _build_missing_line(aligned, row)


def _list_skipped_rows(aligned: LineAlignment) -> list[int]:
    """Return the file's lines at the site that `old` skips without dots in their place; blank ones do not
    count.
    """
    site, lines = aligned.site, aligned.source.lines
    seen = set(aligned.row_of.values())
    return [
        row
        for row in range(site.first, site.end)
        if row not in seen and lines[row].strip() and not _is_elided_row(aligned, row)
    ]


def _is_elided_row(aligned: LineAlignment, row: int) -> bool:
    old, pairs = aligned.hunk.old, aligned.site.pairs
    above = max((number for number, there in pairs if there < row), default=0)
    below = min((number for number, there in pairs if there > row), default=len(old))
    return any(is_omission(text) for text in old[above:below])


def _build_missing_line(aligned: LineAlignment, row: int) -> AmbiguousEdit:
    shown = aligned.source.lines[row].strip()[:60]
    return AmbiguousEdit(f"line {row + 1} ({shown!r}) is missing from `old`: give it in both")
