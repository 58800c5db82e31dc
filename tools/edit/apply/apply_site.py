"""Choose among the candidate sites of an edit and compute the splices of the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tools.edit.adapt.blank_lines import remove_absent_blank_lines
from tools.edit.adapt.shared_indentation import reindent_old_lines
from tools.edit.apply.already_applied import is_already_inserted
from tools.edit.apply.hunk_merge import (
    LineSplice,
    build_splices,
    refuse_floating_change,
    refuse_invented_line,
    refuse_moved_first_line,
    refuse_sliding_removal,
)
from tools.edit.apply.splicing import TextSplice, adjust_final_newline, apply_splices, to_text_splice
from tools.edit.edit_model import Hunk
from tools.edit.match.ambiguous import AmbiguousEdit
from tools.edit.match.hunk_diff import diff_lines, find_extreme_diffs
from tools.edit.match.matchers import Rung, Site, Source
from tools.edit.match.readings import Reading, split_reading
from tools.edit.match.refusal_messages import EditRefused, format_several_places

MAX_COMPARED = 5
"""Sites whose results are compared: if the results are equal (one of two equal lines is removed), the edit is
unambiguous.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedEdit:
    """Where an edit was found, at which rung, and its splices.

    note: corrections made to the given text
    apart: each splice is a place of its own
    """

    rung: Rung
    splices: tuple[TextSplice, ...]
    note: str = ""
    apart: bool = False


def resolve_sites(
    source: Source, found: Sequence[Site], hunk: Hunk, rung: Rung, reading: Reading | None = None
) -> LocatedEdit:
    """Place the edit at its one site. Raises EditRefused for several sites with different results."""
    note = reading.note if reading else ""
    if reading and rung is not Rung.EXACT and has_surplus_newline(reading):
        found, hunk = _extend_by_blank_line(source, found, hunk, reading)
    if len(found) > 1:
        results = set()
        for site in found[:MAX_COMPARED]:
            try:
                results.add(apply_splices(source, place_edit(source, site, hunk, rung, note).splices))
            except EditRefused:
                results.add(f"unclear at {site.first}")
        if len(results) > 1 or len(found) > MAX_COMPARED:
            how = "" if rung is Rung.EXACT else f" ({rung})"
            raise EditRefused(format_several_places(source, [site.first for site in found], how))
    return place_edit(source, found[0], hunk, rung, note)


def has_surplus_newline(reading: Reading) -> bool:
    """Return whether only `old` ends with a newline: a slip, or a blank line that `new` has elsewhere."""
    return reading.old.endswith("\n") and bool(reading.new) and not reading.new.endswith("\n")


def _extend_by_blank_line(
    source: Source, found: Sequence[Site], hunk: Hunk, reading: Reading
) -> tuple[Sequence[Site], Hunk]:
    """Take the newline for a blank line, as the exact rung does, if each site is followed by one."""
    last = len(hunk.old) - 1
    follows = [
        site.pairs[-1][0] == last and site.end < len(source.lines) and not source.lines[site.end].strip()
        for site in found
    ]
    if not all(follows):
        return found, hunk
    lines = tuple(diff_lines(*split_reading(reading, literal=True)))
    sites = [replace(site, end=site.end + 1, pairs=(*site.pairs, (last + 1, site.end))) for site in found]
    return sites, replace(hunk, lines=lines)


def place_edit(source: Source, site: Site, hunk: Hunk, rung: Rung, note: str) -> LocatedEdit:
    try:
        if not hunk.given and rung is not Rung.EXACT:
            hunk, site = _remove_absent_blanks(reindent_old_lines(source, hunk, site), site)
            refuse_invented_line(hunk.lines, site)
            refuse_floating_change(source, hunk.lines, site)
            refuse_sliding_removal(source, hunk.lines, site)
        if rung is not Rung.EXACT:
            refuse_moved_first_line(source, hunk.lines, site, marked=hunk.given)
        found = build_splices(source, hunk.lines, site, rung)
        if (
            not hunk.given
            and rung is not Rung.EXACT
            and (
                len(site.pairs) < max(len(hunk.old), site.end - site.first)
                or _has_conflicting_lines(source, site, hunk)
            )
        ):
            _refuse_other_new_lines(source, site, hunk, rung, found)
    except AmbiguousEdit as problem:
        raise EditRefused(f"`old` was found at line {site.first + 1} ({rung}), but {problem}") from None
    if rung is not Rung.EXACT and any(is_already_inserted(source, splice) for splice in found):
        raise EditRefused(f"already applied: its lines stand at line {site.first + 1} ({rung})", already=True)
    texts = [to_text_splice(source, splice) for splice in found]
    if site.end == len(source.lines) and found:
        texts = adjust_final_newline(source, hunk, texts)
    changed = tuple(each for each in texts if source.text[each.start : each.end] != each.new)
    if not changed:
        raise EditRefused(f"line {site.first + 1} is already so ({rung})", already=True)
    return LocatedEdit(rung=rung, splices=changed, note=note)


def _has_conflicting_lines(source: Source, site: Site, hunk: Hunk) -> bool:
    """Return whether lines equal in `old`, or in `new` and `old`, differ in the file, which matters for those
    that are kept.
    """
    there: dict[str, str] = {}
    old, new = hunk.old, hunk.new
    return any(
        there.setdefault(old[i], source.lines[row]) != source.lines[row]
        or (old[i] != source.lines[row] and new.count(old[i]) > old.count(old[i]))
        for i, row in site.pairs
    )


def _refuse_other_new_lines(
    source: Source, site: Site, hunk: Hunk, rung: Rung, made: Sequence[LineSplice]
) -> None:
    """Check, for a hunk computed from two texts with a skipped or invented line, that the result does not
    depend on which
    of several equal lines is kept: the earliest and the latest choice must agree. Raises EditRefused.
    """
    result = apply_splices(source, [to_text_splice(source, splice) for splice in made])
    for lines in find_extreme_diffs(hunk.old, hunk.new):
        try:
            other = apply_splices(
                source, [to_text_splice(source, each) for each in build_splices(source, lines, site, rung)]
            )
        except AmbiguousEdit:
            other = None  # that choice is itself ambiguous
        if other != result:
            raise EditRefused(
                f"`old` was found at line {site.first + 1} ({rung}), but which of the lines that stand several "
                "times stay is not clear: give all lines as the file has them"
            )


def _remove_absent_blanks(hunk: Hunk, site: Site) -> tuple[Hunk, Site]:
    """Recompute a hunk made of two texts without the blank lines of the old one that the file lacks."""
    old, new = hunk.old, hunk.new
    paired = {number for number, _ in site.pairs}
    ghosts = [i for i, line in enumerate(old) if not line.strip() and i not in paired]
    if not ghosts:
        return hunk, site
    kept_old, kept_new = remove_absent_blank_lines(old, new, ghosts)
    numbers = {number: i for i, number in enumerate(i for i in range(len(old)) if i not in set(ghosts))}
    pairs = tuple((numbers[number], row) for number, row in site.pairs)
    lines = tuple(diff_lines(kept_old, kept_new))
    return replace(hunk, lines=lines), replace(site, pairs=pairs)
