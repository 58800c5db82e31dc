"""The decision on an edit: its splices, if it has one explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from tools.edit.decide.already_applied import (
    is_already_inserted,
    refuse_already_applied_hunk,
    refuse_already_replaced,
    refuse_new_lines_in_place,
    refuse_repeated_insertion,
)
from tools.edit.decide.slip_table import LINES, ORDER, PARTS, PLACES, TEXTS
from tools.edit.decide.unintended_lines import refuse_unintended_lines
from tools.edit.edit_model import Hunk
from tools.edit.hunk_diff import find_extreme_diffs
from tools.edit.match.matchers import Rung, Source
from tools.edit.match.site_search import MAX_COMPARED
from tools.edit.parse.readings import reading_to_hunk
from tools.edit.refusal import AmbiguousEdit, EditRefused, format_not_found, format_several_places
from tools.edit.reindent.text_fitting import fit_text
from tools.edit.splicing import apply_splices, to_text_splice
from tools.edit.stage_values import Case, Fit, LineAlignment, LocatedEdit, Match, Parsed, PartAlignment


def decide(source: Source, parsed: Parsed, match: Match | None, fits: Sequence[Fit]) -> LocatedEdit:
    """Return the edit if all explanations give the same result. Raises EditRefused.

    fits: the edit at each of the places, None without a match
    """
    _refuse_undecided_numbers(parsed, match)
    _refuse_unintended_text(source, parsed, match)
    if match is None or match.is_part or match.rung in (Rung.ELISION, Rung.ANCHORS):
        _refuse_applied_lines(source, parsed)
    if match is None:
        _refuse_absent(source, parsed)
    if match.apart:
        splices = tuple(splice for fit in fits for splice in fit.splices)
        return LocatedEdit(rung=match.rung, splices=splices, note=match.reading.note, apart=True)
    case = Case(source=source, parsed=parsed, match=match, aligned=fits[0].alignment)
    for slip in PLACES:
        slip.check(case)
    refuse_repeated_insertion(case)
    for slip in TEXTS:
        slip.check(case)
    return _decide_place(case, fits)


def _refuse_undecided_numbers(parsed: Parsed, match: Match | None) -> None:
    """Raise EditRefused if line numbers leave two readings; a hunk that occurs as given has only one."""
    is_exact = match is not None and match.rung is Rung.EXACT
    if parsed.doubt and not (isinstance(parsed.edit, Hunk) and (is_exact or not parsed.is_tolerant)):
        raise EditRefused(parsed.doubt)


def _refuse_unintended_text(source: Source, parsed: Parsed, match: Match | None) -> None:
    """Refuse unintended lines of the reading that occurs exactly, else of the edit as given."""
    if match is not None and match.rung is Rung.EXACT and not match.is_part:
        refuse_unintended_lines(source, match.hunk.lines)
    elif isinstance(parsed.edit, Hunk) or parsed.is_tolerant:
        refuse_unintended_lines(source, reading_to_hunk(parsed.readings[0]).lines)


def _refuse_applied_lines(source: Source, parsed: Parsed) -> None:
    if parsed.is_tolerant:
        for reading in parsed.readings:
            refuse_already_applied_hunk(source, reading_to_hunk(reading))


def _refuse_absent(source: Source, parsed: Parsed) -> NoReturn:
    """Refuse an edit whose old text is nowhere."""
    where, edit = "", parsed.edit
    if isinstance(edit, Hunk):
        refuse_new_lines_in_place(source, edit)
        where = f"after {' / '.join(map(repr, edit.heads))}: " if edit.heads else ""
    elif not edit.all:
        for reading in parsed.readings:
            refuse_already_replaced(source, reading.old, reading.new)
    raise EditRefused(where + format_not_found(source, parsed.old))


def _decide_place(case: Case, fits: Sequence[Fit]) -> LocatedEdit:
    """Decide between several places: they are one if the results are equal."""
    source, match = case.source, case.match
    if len(match.sites) > 1:
        results = {
            _compute_result(source, site.first, fit)
            for site, fit in zip(match.sites[:MAX_COMPARED], fits, strict=True)
        }
        if len(results) > 1 or len(match.sites) > MAX_COMPARED:
            how = "" if match.rung is Rung.EXACT else f" ({match.rung})"
            raise EditRefused(format_several_places(source, [site.first for site in match.sites], how))
    return _decide_fit(source, fits[0])


def _compute_result(source: Source, row: int, fit: Fit) -> str:
    """Return the text after the edit at one place; a result of its own for each row where it is ambiguous."""
    try:
        return apply_splices(source, _decide_fit(source, fit).splices)
    except EditRefused:
        return f"unclear at {row}"


def _decide_fit(source: Source, fit: Fit) -> LocatedEdit:
    aligned = fit.alignment
    note = aligned.reading.note
    if isinstance(aligned, PartAlignment):
        row, rung, how = source.line_at(aligned.start), Rung.EXACT, ""
    else:
        row, rung, how = aligned.site.first, aligned.rung, f" ({aligned.rung})"
    try:
        _refuse_doubts(fit)
    except AmbiguousEdit as problem:
        raise EditRefused(f"`old` was found at line {row + 1}{how}, but {problem}") from None
    if rung is not Rung.EXACT and any(is_already_inserted(source, splice) for splice in fit.lines):
        raise EditRefused(f"already applied: its lines stand at line {row + 1} ({rung})", already=True)
    if not fit.splices:
        raise EditRefused(f"line {row + 1} is already so ({rung})", already=True)
    return LocatedEdit(rung=rung, splices=fit.splices, note=note)


def _refuse_doubts(fit: Fit) -> None:
    """Raise AmbiguousEdit for a slip with two explanations, and for the doubts of the stages before."""
    aligned = fit.alignment
    if isinstance(aligned, PartAlignment):
        for slip in PARTS:
            slip.check(aligned)
    elif aligned.doubt:
        raise AmbiguousEdit(aligned.doubt)
    elif not aligned.is_exact:
        for row in (*ORDER, *LINES):
            row.check(aligned)
    if fit.doubt:
        raise AmbiguousEdit(fit.doubt)
    if isinstance(aligned, LineAlignment) and not (aligned.is_exact or aligned.hunk.given):
        _refuse_other_diffs(aligned, fit)


def _refuse_other_diffs(aligned: LineAlignment, fit: Fit) -> None:
    """Raise AmbiguousEdit if the result depends on which of several equal lines is kept, where a line is
    skipped or invented: the earliest and the latest choice must agree. For a hunk computed from two texts.
    """
    source, site, hunk = aligned.source, aligned.site, aligned.hunk
    if len(site.pairs) >= max(len(hunk.old), site.end - site.first) and not _has_conflicting_lines(aligned):
        return
    result = _apply_lines(source, fit)
    for lines in find_extreme_diffs(hunk.old, hunk.new):
        if _explain_otherwise(replace(aligned, hunk=replace(hunk, lines=lines))) != result:
            raise AmbiguousEdit(
                "which of the lines that stand several times stay is not clear: give all lines as the file has them"
            )


def _explain_otherwise(aligned: LineAlignment) -> str | None:
    """Return the result of another way to lay the lines; None if that is itself ambiguous."""
    fit = fit_text(aligned, "")
    try:
        for slip in LINES:
            slip.check(aligned)
    except AmbiguousEdit:
        return None
    return None if fit.doubt else _apply_lines(aligned.source, fit)


def _apply_lines(source: Source, fit: Fit) -> str:
    return apply_splices(source, [to_text_splice(source, splice) for splice in fit.lines])


def _has_conflicting_lines(aligned: LineAlignment) -> bool:
    """Return whether lines equal in `old`, or in `new` and `old`, differ in the file, which matters for those
    that are kept.
    """
    there: dict[str, str] = {}
    old, new, lines = aligned.hunk.old, aligned.hunk.new, aligned.source.lines
    return any(
        there.setdefault(old[i], lines[row]) != lines[row]
        or (old[i] != lines[row] and new.count(old[i]) > old.count(old[i]))
        for i, row in aligned.site.pairs
    )
