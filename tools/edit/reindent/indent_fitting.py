"""The mapping from the model's indentation to the file's, fitted to the lines that were found."""

from __future__ import annotations

from tools.edit.indentation import Mapping, fit_indent_mapping, has_mixed_indentation, indent_of
from tools.edit.stage_values import IndentPair, LineAlignment


def find_odd_first(aligned: LineAlignment) -> IndentPair | None:
    """Return the indentation of the first line if it alone lacks some: a model that starts copying within the
    indentation gives only this line without all of it.
    """
    pairs = list(aligned.indents.values())
    if len(pairs) < 2 or any(given != there for given, there in pairs[1:]):
        return None
    given, there = pairs[0]
    return pairs[0] if given != there and there.endswith(given) else None


def fit_indentation(aligned: LineAlignment) -> Mapping | None:
    """Return the mapping for added lines; None if no simple one fits all lines."""
    given = [indent_of(text) for text in aligned.added if text.strip()]
    if aligned.is_exact and not has_mixed_indentation(given, aligned.source.tabs):
        return str  # unchanged: no quoted line is indented differently
    pairs = list(aligned.indents.values())
    if find_odd_first(aligned):
        pairs = pairs[1:]
    return fit_indent_mapping(pairs, aligned.added, aligned.source.lines, aligned.source.tabs)
