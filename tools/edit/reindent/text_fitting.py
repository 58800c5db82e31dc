"""Fit the new text to the file at one place, and compute its splices."""

from __future__ import annotations

from tools.edit.refusal import AmbiguousEdit
from tools.edit.reindent.line_blocks import build_line_splices
from tools.edit.reindent.part_of_line import build_part_splice
from tools.edit.splicing import TextSplice, adjust_final_newline, to_text_splice
from tools.edit.stage_values import Alignment, Fit, PartAlignment


def fit_text(alignment: Alignment, path: str) -> Fit:
    """Return the splices that put the new text in the file's style there, or the doubt that prevents it."""
    try:
        if isinstance(alignment, PartAlignment):
            return Fit(alignment=alignment, splices=(_fit_part(alignment, path),))
        if alignment.doubt:
            return Fit(alignment=alignment, doubt=alignment.doubt)
        lines = build_line_splices(alignment)
    except AmbiguousEdit as problem:
        return Fit(alignment=alignment, doubt=str(problem))
    source = alignment.source
    splices = [to_text_splice(source, splice) for splice in lines]
    if alignment.site.end == len(source.lines) and splices:
        splices = adjust_final_newline(source, alignment.hunk, splices)
    changed = tuple(each for each in splices if source.text[each.start : each.end] != each.new)
    return Fit(alignment=alignment, splices=changed, lines=tuple(lines))


def _fit_part(alignment: PartAlignment, path: str) -> TextSplice:
    if alignment.literal:
        return TextSplice(start=alignment.start, end=alignment.end, new=alignment.reading.new)
    return build_part_splice(alignment, path)
