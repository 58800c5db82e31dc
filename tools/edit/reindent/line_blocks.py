"""Merge of a hunk into its lines of the file: context keeps the file's bytes, added lines adopt its style."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from sandbox.lazy_dataclass import dataclass
from tools.edit.edit_model import Line
from tools.edit.formats.placeholders import is_omission
from tools.edit.refusal import AmbiguousEdit
from tools.edit.reindent.style_adapter import StyleAdapter
from tools.edit.splicing import LineSplice
from tools.edit.stage_values import LineAlignment

NEAR = 3
"""Lines around the matched ones that are searched for a line that `old` has."""


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


def build_line_splices(aligned: LineAlignment) -> list[LineSplice]:
    """Build the splices of a hunk whose old lines were found at a site. Raises AmbiguousEdit."""
    adapt = StyleAdapter(aligned)
    found = []
    framed = _is_framed_by_blanks(aligned)
    for block in _split_blocks(aligned.lines, aligned.row_of):
        _refuse_absent_blank(aligned, block, framed=framed)
        first, end = _find_replaced_range(aligned, block)
        lines = tuple(adapt.adapt_lines(block.removed, block.added))
        found.append(LineSplice(first=first, end=end, lines=lines))
    return found


def _refuse_absent_blank(aligned: LineAlignment, block: _Block, *, framed: bool) -> None:
    """Raise AmbiguousEdit if a blank line of `old` that the file lacks leaves it open where lines are added."""
    blank = any(not aligned.lines[i].text.strip() for i in block.added)
    inside = block.removed and (block.before is not None or not block.ghost_first)
    beside_ghost = block.ghost and block.added and not framed and not (inside and not blank)
    if beside_ghost or (block.lost and (blank or _may_exist_in_file(aligned, block.lost))):
        raise AmbiguousEdit(
            "`old` has a blank line that the file has not, beside the lines to add: leave it out"
        )


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


def _may_exist_in_file(aligned: LineAlignment, lost: Sequence[int]) -> bool:
    """Return whether a removed blank line that was not matched may be a blank line of the file, between
    matched lines or near them.
    """
    row_of, lines = aligned.row_of, aligned.source.lines
    known, size = set(row_of.values()), len(lines)
    for number in lost:
        above = max((row for i, row in row_of.items() if i < number), default=None)
        below = min((row for i, row in row_of.items() if i > number), default=None)
        first = above + 1 if above is not None else max((below or 0) - NEAR, 0)
        end = below if below is not None else min((size if above is None else above + 1) + NEAR, size)
        if not all(lines[row].strip() for row in set(range(first, end)) - known):
            return True
    return False


def _is_framed_by_blanks(aligned: LineAlignment) -> bool:
    """Return whether both texts begin and end with a blank line that the file lacks: a model's way to quote."""
    lines, row_of = aligned.lines, aligned.row_of
    ends = (0, len(lines) - 1)
    return all(lines[i].op == " " and not lines[i].text.strip() and i not in row_of for i in ends)


def _find_replaced_range(aligned: LineAlignment, block: _Block) -> tuple[int, int]:
    """Return the range of the file's lines that a block replaces. Raises AmbiguousEdit."""
    source, lines, row_of = aligned.source, aligned.lines, aligned.row_of
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
