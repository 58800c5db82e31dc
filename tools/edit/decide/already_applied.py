"""Detection of edits that were applied before."""

from __future__ import annotations

from tools.edit.edit_model import Hunk
from tools.edit.match.exact_match import find_occurrences, find_whole_lines, has_word_boundaries
from tools.edit.match.matchers import Rung, Source, find_sites, first_step
from tools.edit.refusal import EditRefused
from tools.edit.splicing import LineSplice
from tools.edit.stage_values import Case


def refuse_repeated_insertion(case: Case) -> None:
    """Raise EditRefused for an insertion whose result is already at its place."""
    source, start, (old, new) = case.source, case.start, (case.match.reading.old, case.match.reading.new)
    if start is None or not (new.startswith(old) or new.endswith(old)) or not old.strip():
        return
    begin = start if new.startswith(old) else start - (len(new) - len(old))
    is_there = begin >= 0 and source.text.startswith(new, begin)
    if is_there and has_word_boundaries(source.text, begin, begin + len(new)):
        raise EditRefused(f"already applied: `new` stands at line {source.line_at(begin) + 1}", already=True)


def refuse_already_replaced(source: Source, old: str, new: str) -> None:
    """Raise EditRefused if `old` is absent and `new`, which resembles it, occurs exactly once."""
    from difflib import SequenceMatcher

    stripped = new.strip("\n")
    if len(stripped.strip()) < 8 or len(places := find_occurrences(source.text, stripped)) != 1:
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
    if len(found := find_sites(source, hunk.new, first_step(Rung.INDENTATION))) == 1:
        raise EditRefused(f"already applied: its lines stand at line {found[0].first + 1}", already=True)


def refuse_new_lines_in_place(source: Source, hunk: Hunk) -> None:
    """Raise EditRefused if the old lines are absent, and the new ones occur exactly once."""
    if hunk.new and len(rows := find_whole_lines(source.text, hunk.new)) == 1:
        raise EditRefused(f"already applied: its new lines stand at line {rows[0] + 1}", already=True)


def is_already_inserted(source: Source, splice: LineSplice) -> bool:
    """Return whether lines that are only added are already present directly before or after the place."""
    size, at = len(splice.lines), splice.first
    if splice.end > at or not any(line.strip() for line in splice.lines):
        return False
    beside = (source.lines[at : at + size], source.lines[max(at - size, 0) : at])
    return any(tuple(lines) == splice.lines for lines in beside)
