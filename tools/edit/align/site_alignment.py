"""Lay the lines of an edit beside those of the file, at each place where they were found."""

from __future__ import annotations

from dataclasses import replace

from tools.edit.align.blank_lines import remove_absent_blank_lines
from tools.edit.align.old_indentation import reindent_old_lines
from tools.edit.align.unwrapping import unwrap_new_text
from tools.edit.edit_model import Hunk
from tools.edit.hunk_diff import diff_lines
from tools.edit.match.matchers import Rung, Site, Source
from tools.edit.match.site_search import MAX_COMPARED
from tools.edit.parse.readings import split_reading
from tools.edit.refusal import AmbiguousEdit
from tools.edit.stage_values import Alignment, LineAlignment, Match, PartAlignment, Reading


def align_match(source: Source, match: Match, path: str) -> list[Alignment]:
    """Return an alignment for each of the places, of those that are more than are compared for some."""
    if match.apart:
        return [
            PartAlignment(source=source, reading=match.reading, start=start, literal=True)
            for start in match.starts
        ]
    if match.starts:
        return [_align_text(source, match, start, path) for start in match.starts[:MAX_COMPARED]]
    hunk, sites = match.hunk, list(match.sites)
    if match.rung is not Rung.EXACT and match.reading.has_surplus_newline:
        hunk, sites = _extend_by_blank_line(source, hunk, sites, match.reading)
    return [_align_lines(source, match, hunk, site) for site in sites[:MAX_COMPARED]]


def has_missing_newline(source: Source, start: int, reading: Reading) -> bool:
    """Return whether only `old` ends with a newline, so that the next line would be glued to the replacement."""
    end = start + len(reading.old)
    return reading.has_surplus_newline and end < len(source.text) and source.text[end] != "\n"


def _align_text(source: Source, match: Match, start: int, path: str) -> Alignment:
    """Align text that occurs exactly: as lines, if it is whole ones."""
    reading = match.reading
    if match.is_part:
        return PartAlignment(source=source, reading=reading, start=start)
    if path:
        new, note = unwrap_new_text(path, source, start, reading.old, reading.new)
        reading = replace(reading, new=new, note=", ".join(filter(None, (reading.note, note))))
    # with an empty replacement, the line end before these lines is removed, not the one after them
    from_line_end = not reading.new and reading.old.startswith("\n") and not reading.old.endswith("\n")
    from_line_end = from_line_end and not match.whole_lines
    if from_line_end or not source.is_whole_lines(start, reading.old):
        return PartAlignment(source=source, reading=reading, start=start, keeps_end=from_line_end)
    texts = split_reading(reading, literal=not has_missing_newline(source, start, reading))
    hunk = Hunk(lines=tuple(diff_lines(*texts)))
    site = Site.of_lines(source.line_at(start), len(hunk.old))
    return LineAlignment(source=source, reading=reading, hunk=hunk, site=site, rung=match.rung)


def _align_lines(source: Source, match: Match, hunk: Hunk, site: Site) -> LineAlignment:
    aligned = LineAlignment(source=source, reading=match.reading, hunk=hunk, site=site, rung=match.rung)
    if hunk.given or match.rung is Rung.EXACT:
        return aligned
    try:
        hunk, site = _remove_absent_blanks(reindent_old_lines(source, hunk, site), site)
    except AmbiguousEdit as problem:
        return replace(aligned, doubt=str(problem))
    return replace(aligned, hunk=hunk, site=site)


def _extend_by_blank_line(
    source: Source, hunk: Hunk, sites: list[Site], reading: Reading
) -> tuple[Hunk, list[Site]]:
    """Take the newline that only `old` has for a blank line, as the exact rung does, if each site is followed
    by one.
    """
    last = len(hunk.old) - 1
    follows = [
        site.pairs[-1][0] == last and site.end < len(source.lines) and not source.lines[site.end].strip()
        for site in sites
    ]
    if not all(follows):
        return hunk, sites
    lines = tuple(diff_lines(*split_reading(reading, literal=True)))
    longer = [replace(site, end=site.end + 1, pairs=(*site.pairs, (last + 1, site.end))) for site in sites]
    return replace(hunk, lines=lines), longer


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
