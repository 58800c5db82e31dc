"""Slips that explain the old text at another place: each check raises EditRefused if that may be meant."""

from __future__ import annotations

from collections.abc import Sequence

from tools.edit.align.site_alignment import has_missing_newline
from tools.edit.formats.cleanup import undo_escapes
from tools.edit.match.anchors import find_anchored_sites
from tools.edit.match.exact_match import find_whole_lines
from tools.edit.match.matchers import (
    STEPS,
    Rung,
    Site,
    Source,
    Step,
    find_sites,
    first_step,
    has_distinctive_word,
)
from tools.edit.match.site_search import filter_sites, judge_trailing_space
from tools.edit.refusal import EditRefused, format_several_places
from tools.edit.stage_values import Case

PARTED = 3
"""Other lines that may occur between the wanted ones."""


def refuse_final_line_twin(case: Case) -> None:
    """The lines also occur at the end of the file, which has no final newline."""
    source, old = case.source, case.match.reading.old
    if case.start is None or not old.endswith("\n") or source.ends_with_newline:
        return
    last = len(source.text) - len(old) + 1
    is_last = source.text.endswith(old[:-1]) and source.is_whole_lines(last, old[:-1])
    if is_last and case.start != last:
        _refuse_places(source, [source.line_at(start) for start in (case.start, last)], "")


def refuse_several_starts(case: Case) -> None:
    """The text occurs exactly at several places."""
    if len(case.match.starts) > 1:
        hint = "" if case.match.whole_lines else ", or all=true"
        _refuse_places(case.source, [case.source.line_at(start) for start in case.match.starts], "", hint)


def refuse_trailing_space(case: Case) -> None:
    """The last line is replaced and ends in white space that `old` has not: the new one may end the same."""
    source, reading = case.source, case.match.reading
    if not case.match.starts:
        return
    start = case.match.starts[0]
    space = judge_trailing_space(source, start, reading.old, reading.new)
    if space == "left":
        raise EditRefused(
            f"line {source.line_at(start) + 1} ends in white space that `old` has not: give it to its end"
        )
    if space == "unclear":
        end = start + len(reading.old)
        raise EditRefused(
            f"line {source.line_at(end) + 1} ends in white space that `old` has not: give the line to its end, and "
            "the new one with what it is to end in"
        )


def refuse_blank_line_twins(case: Case) -> None:
    """The lines occur several times when blank ones, which models drop or add, are ignored."""
    source, match, at = case.source, case.match, case.match.step
    if case.start is not None:
        rung, found = _find_twins(source, match.reading.old.removesuffix("\n").split("\n"), STEPS[0])
        _refuse_twins(source, source.line_at(case.start), rung, found)
    elif at is None or at.skips_blank or (at is not STEPS[0] and len(match.sites) > 1):
        return
    elif match.sites:
        first, hunk = match.sites[0].first, match.hunk
        if not (at is STEPS[0] and hunk.counted and hunk.start == first + 1):
            rung, found = _find_twins(source, hunk.old, at)
            _refuse_twins(source, first, rung, _filter_sites(case, found))


def refuse_end_blank_twins(case: Case) -> None:
    """The lines were found without a blank one at their end, and occur with it elsewhere, at another depth or
    with other white space.
    """
    match, reading = case.match, case.match.reading
    if len(match.sites) == 1 and match.rung is Rung.TRAILING:
        wanted = reading.old.split("\n") if reading.has_surplus_newline else match.hunk.old
        _refuse_whole_twins(case.source, wanted, match.sites[0])


def refuse_glued_twins(case: Case) -> None:
    """The same for text with a newline at its end that `new` has not: it may stand for a blank line."""
    source, start, reading = case.source, case.start, case.aligned.reading
    if start is None or not source.is_whole_lines(start, reading.old):
        return
    if has_missing_newline(source, start, reading):
        wanted = reading.old.split("\n")
        _refuse_whole_twins(source, wanted, Site.of_lines(source.line_at(start), len(wanted) - 1))


def refuse_deeper_lines(case: Case) -> None:
    """The lines were found but for blank ones, and all of them occur at another depth."""
    match, deeper = case.match, first_step(Rung.INDENTATION)
    if len(match.sites) == 1 and match.step == STEPS[2]:
        found = _filter_sites(case, find_sites(case.source, match.hunk.old, deeper))
        if found:
            places = [match.sites[0].first, *(site.first for site in found)]
            _refuse_places(case.source, places, f" ({deeper.rung})")


def refuse_interleaved_lines(case: Case) -> None:
    """Several lines, found with changed white space, occur as given elsewhere with others between them."""
    source, match = case.source, case.match
    if case.start is not None:
        old = match.reading.old
        if not (source.before(case.start).isspace() and "\n" in old.strip("\n")):
            return
        wanted: Sequence[str] = old.removesuffix("\n").split("\n")
        site, rung = Site.of_lines(source.line_at(case.start), len(wanted)), Rung.INDENTATION
    elif match.step is not None and match.step is not STEPS[0] and len(match.sites) == 1:
        wanted, site, rung = match.hunk.old, match.sites[0], match.rung
    else:
        return
    step = STEPS[0] if rung is Rung.TRAILING else STEPS[1]
    if start := _find_interleaved(source, wanted, site, step):
        _refuse_places(source, [site.first, start[0]], f" ({rung}, and with lines between)")


def refuse_cut_lines(case: Case) -> None:
    """Several lines match except for the rest of the last one, or the beginning of the first, and whole lines
    elsewhere match better, with another one left out.
    """
    source, start, old = case.source, case.start, case.match.reading.old
    if start is None or "\n" not in old.strip("\n"):
        return
    end = start + len(old)
    behind = "" if old.endswith("\n") else source.behind(end)
    if not (behind.strip() or source.before(start).strip()):
        return
    wanted = old.strip("\n").split("\n")
    first, last = source.line_at(start), source.line_at(end)
    for site in find_anchored_sites(source, wanted, [False] * len(wanted))[:1]:
        if site.end <= first or site.first > last:
            _refuse_places(source, [first, site.first], f" ({Rung.ANCHORS})")


def refuse_trailing_space_twin(case: Case) -> None:
    """The trailing white space of `old` matches before other text of its line, which may be meant to stay; or
    a line that ends there is meant, whose white space at the end was invented.
    """
    source, start, old = case.source, case.start, case.match.reading.old
    if start is None or old[-1] not in " \t" or not source.behind(start + len(old)):
        return
    step = first_step(Rung.TRAILING if source.before(start).strip() else Rung.INDENTATION)
    if found := find_sites(source, old.split("\n"), step):
        places = [source.line_at(start), *(site.first for site in found)]
        _refuse_places(source, places, f" ({step.rung})")


def refuse_escaped_lines(case: Case) -> None:
    """The letters \\n match in one line, and lines that they may mean occur somewhere: a model that escapes
    twice means lines by them.
    """
    source, old = case.source, case.match.reading.old
    if case.start is None or "\\n" not in old or "\n" in old.strip("\n"):
        return
    plain = undo_escapes(old)
    places = find_whole_lines(source.text, plain.strip("\n").split("\n")) if plain else []
    if places:
        _refuse_places(source, [source.line_at(case.start), *places], " (as letters, and as line ends)")


def _filter_sites(case: Case, sites: Sequence[Site]) -> list[Site]:
    return filter_sites(case.source, case.match.hunk, case.match.scopes, sites)


def _refuse_places(source: Source, rows: Sequence[int], how: str, hint: str = "") -> None:
    raise EditRefused(format_several_places(source, rows, how, hint))


def _refuse_whole_twins(source: Source, wanted: Sequence[str], site: Site) -> None:
    """Raise EditRefused if the lines occur elsewhere with the blank one that the site lacks."""
    if all(wanted[edge].strip() or edge in dict(site.pairs) for edge in (0, len(wanted) - 1)):
        return
    step = first_step(Rung.WHITE_SPACE)
    whole = [each for each in find_sites(source, wanted, step) if len(each.pairs) == len(wanted)]
    if others := [each.first for each in whole if each.first != site.first]:
        _refuse_places(source, [site.first, *others], f" ({step.rung})")


def _find_twins(source: Source, wanted: Sequence[str], at: Step) -> tuple[Rung, list[Site]]:
    """Find the sites of lines, unique under the step `at`, when blank lines are ignored. Where only brackets
    and words like `end` are given exactly, the same holds for another depth.
    """
    own = has_distinctive_word("\n".join(wanted))
    to_the_letter = at.rung in (Rung.EXACT, Rung.TRAILING)
    skipping = Step(rung=at.rung, key=at.key, skips_blank=True)
    step = skipping if not to_the_letter else STEPS[2] if own else STEPS[4]
    if own and len(wanted) < 2:
        return step.rung, []
    if to_the_letter and source.text.count(max((line.strip() for line in wanted), key=len)) < 2:
        return step.rung, []
    return step.rung, find_sites(source, wanted, step)


def _refuse_twins(source: Source, row: int, rung: Rung, found: Sequence[Site]) -> None:
    """Raise EditRefused for several twins, one of which includes the row that was found."""
    if len(found) > 1 and any(site.first <= row < site.end for site in found):
        _refuse_places(source, [site.first for site in found], f" ({rung})")


def _find_interleaved(source: Source, wanted: Sequence[str], site: Site, step: Step) -> list[int]:
    """Return the rows of all wanted lines, in order, with other lines between them and not all at the site."""
    given = [step.key(line) for line in wanted if line.strip()]
    view = source.view(step)
    if len(given) < 2 or not all(line in view.places for line in given):
        return []
    taken = {row for _, row in site.pairs}
    # a blank line that is not there
    ended = not wanted[-1].strip() and len(wanted) - 1 not in dict(site.pairs)
    for start in view.places[given[0]]:
        end = min(start + len(wanted) + PARTED, len(view.keys))
        rows = _find_rows_in_order(view.keys, start, end, given)
        if ended and rows and set(rows) <= taken:
            last = next((row for row in range(rows[-1], end) if not view.keys[row].strip()), None)
            if last is not None and {given[-1]} == set(view.keys[rows[-1] : last]) and last > rows[-1] + 1:
                rows.append(last)
        if rows and not taken.issuperset(rows):
            return rows
    return []


def _find_rows_in_order(lines: Sequence[str], start: int, end: int, wanted: Sequence[str]) -> list[int]:
    """Return the earliest rows from `start` on, before `end`, of the wanted lines in order; none if any is
    missing.
    """
    rows, left = list[int](), list(wanted[::-1])
    for row in range(start, end):
        if left and lines[row] == left[-1]:
            rows.append(row)
            left.pop()
    return [] if left else rows
