"""Detection of edits that were applied before, and of edits that leave code out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tools.edit.apply.hunk_merge import LineSplice
from tools.edit.edit_model import Hunk, Line
from tools.edit.formats.placeholders import is_elision, is_placeholder
from tools.edit.match import exact_match
from tools.edit.match.matchers import STEPS, Rung, Source, find_sites
from tools.edit.match.readings import Reading
from tools.edit.match.refusal_messages import EditRefused


def refuse_placeholders(source: Source, lines: Iterable[Line]) -> None:
    """Raise EditRefused for added lines that are placeholders, or for dots in place of several given lines."""
    lines = list(lines)
    _refuse_elisions(source, lines)
    old = {line.text.strip() for line in lines if line.op != "+"}
    for line in lines:
        text = line.text.strip()
        if line.op == "+" and is_placeholder(text) and text not in old and text not in source.text:
            raise EditRefused(
                f"`new` has a placeholder for code it leaves out ({text[:60]!r}): "
                "give all lines, or a smaller `old`"
            )


def _refuse_elisions(source: Source, lines: Sequence[Line]) -> None:
    """Raise EditRefused for dots that replace several lines of `old`. For one line they may be Python's `...`
    as a body.
    """
    for i, line in enumerate(lines):
        if line.op != "+" or not is_elision(line.text) or line.text in source.lines:
            continue
        if (gone := _count_elided_lines(lines, i)) > 1:
            raise EditRefused(
                f"`new` has {line.text.strip()!r} where `old` has {gone} lines: give all lines, or a smaller `old`"
            )


def _count_elided_lines(lines: Sequence[Line], number: int) -> int:
    """Return how many non-blank removed lines the added line replaces, not counting those that other added
    lines replace.
    """
    first, last = number, number + 1
    while first and lines[first - 1].op != " ":
        first -= 1
    while last < len(lines) and lines[last].op != " ":
        last += 1
    ops = [line.op for line in lines[first:last] if line.text.strip()]
    return max(ops.count("-") - (ops.count("+") - 1), 0)


def refuse_repeated_insertion(source: Source, start: int, reading: Reading) -> None:
    """Raise EditRefused for an insertion whose result is already at this place."""
    old, new = reading.old, reading.new
    if not (new.startswith(old) or new.endswith(old)) or not old.strip():
        return
    begin = start if new.startswith(old) else start - (len(new) - len(old))
    if (
        begin >= 0
        and source.text.startswith(new, begin)
        and exact_match.has_word_boundaries(source.text, begin, begin + len(new))
    ):
        raise EditRefused(f"already applied: `new` stands at line {source.line_at(begin) + 1}", already=True)


def refuse_already_replaced(source: Source, old: str, new: str) -> None:
    """Raise EditRefused if `old` is absent and `new`, which resembles it, occurs exactly once."""
    from difflib import SequenceMatcher

    stripped = new.strip("\n")
    if len(stripped.strip()) < 8 or len(places := exact_match.find_occurrences(source.text, stripped)) != 1:
        return
    if SequenceMatcher(None, old[:2000], new[:2000], autojunk=False).ratio() > 0.4:
        line = source.line_at(places[0]) + 1
        raise EditRefused(f"already applied: `new` stands at line {line}, and `old` nowhere", already=True)


def refuse_already_applied_hunk(source: Source, hunk: Hunk) -> None:
    """Raise EditRefused if the old lines are absent at any indentation, and the new ones with context occur
    once.
    """
    if not any(line.op == " " and line.text.strip() for line in hunk.lines):
        return
    step = next(step for step in STEPS if step.rung is Rung.INDENTATION)
    if len(found := find_sites(source, hunk.new, step)) == 1:
        raise EditRefused(f"already applied: its lines stand at line {found[0].first + 1}", already=True)


def is_already_inserted(source: Source, splice: LineSplice) -> bool:
    """Return whether lines that are only added are already present directly before or after the place."""
    size, at = len(splice.lines), splice.first
    if splice.end > at or not any(line.strip() for line in splice.lines):
        return False
    beside = (source.lines[at : at + size], source.lines[max(at - size, 0) : at])
    return any(tuple(lines) == splice.lines for lines in beside)
