"""The pipeline of one edit: parse, match, align, re-indent, decide.

A slip of the model has one explanation, or nothing is done (decision 9). The first four stages explain the
edit: they never refuse a slip, but hand their doubts on. The last one compares the explanations.
"""

from __future__ import annotations

from tools.edit.align.site_alignment import align_match
from tools.edit.decide.decision import decide
from tools.edit.edit_model import Edit, Hunk, Lines, Replace, Symbol
from tools.edit.match.matchers import Source
from tools.edit.match.site_search import Written, find_match
from tools.edit.parse.edit_parser import parse_edit
from tools.edit.positions import locate_addition, locate_lines, locate_symbol
from tools.edit.reindent.text_fitting import fit_text
from tools.edit.stage_values import LocatedEdit


def locate_edit(source: Source, edit: Edit, path: str, written: Written, *, strictest: bool) -> LocatedEdit:
    """Return the splices of an edit at the one place that it means. Raises EditRefused.

    path: gives the language where only the syntax decides between two readings
    written: parts of the text that earlier edits made
    strictest: only the text as given, where it occurs exactly
    """
    match edit:
        case Lines():
            return locate_lines(source, edit)
        case Symbol():
            return locate_symbol(source, edit, path)
        case Hunk() if not edit.old:
            return locate_addition(source, edit)
        case _:
            return _locate_old_text(source, edit, path, written, strictest=strictest)


def _locate_old_text(
    source: Source, edit: Replace | Hunk, path: str, written: Written, *, strictest: bool
) -> LocatedEdit:
    parsed = parse_edit(source, edit, strictest=strictest)
    match = find_match(source, parsed, written)
    aligned = align_match(source, match, path) if match else []
    fits = [fit_text(each, path) for each in aligned]
    return decide(source, parsed, match, fits)
