"""Adaptation of added lines to the file's indentation, quotes and, where they are versions of old lines,
words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tools.edit.indentation import (
    Mapping,
    fit_indent_mapping,
    has_mixed_indentation,
    indent_of,
    is_tab_indented,
    normalize_indent,
)
from tools.edit.match.matchers import Rung
from tools.edit.refusal import AmbiguousEdit
from tools.edit.reindent.characters import CharacterAdapter
from tools.edit.reindent.token_merge import merge_words, pair_versions
from tools.edit.stage_values import IndentPair, LineAlignment

APPROXIMATE = (Rung.PUNCTUATION, Rung.ANCHORS)
"""Rungs at which words of the file and of the model's old lines differ, so that the new lines are merged with
them.
"""


class StyleAdapter:
    """Adapts added lines to the style of the file, as far as the matched lines show it. Raises AmbiguousEdit
    where they do not.
    """

    def __init__(self, aligned: LineAlignment) -> None:
        self._aligned = aligned
        self._source, self._lines, self._row_of = aligned.source, aligned.lines, aligned.row_of
        self._map_indent = _fit_indentation(aligned)
        self._odd_first = find_odd_first(aligned)
        self._merges = aligned.rung in APPROXIMATE
        self._known = map_old_lines(aligned)
        self._characters = CharacterAdapter(aligned)
        self._strips = not aligned.is_exact and _has_spurious_trailing_space(aligned)

    def adapt_lines(self, removed: Sequence[int], added: Sequence[int]) -> Iterator[str]:
        """Adapt the added lines that replace removed ones, both by their numbers."""
        needs_bases = self._map_indent is None or self._merges
        bases = dict(pair_versions(self._lines, removed, added)) if needs_bases else {}
        for number in added:
            line = self._adapt_line(number, bases.get(number))
            yield line.rstrip() if self._strips else line

    def _adapt_line(self, number: int, base: int | None) -> str:
        """Adapt one line. base: the removed line of which it is a version"""
        text = self._lines[number].text
        if not text.strip():
            return self._adapt_blank_line(text)
        if (known := self._known.get(text)) is not None:
            return known
        text = self._indent_line(number, text, base)
        if base is not None and self._merges:
            old, row = self._lines[base].text.strip(), self._source.lines[self._row_of[base]].strip()
            if old != row:
                indent = indent_of(text)
                text = indent + merge_words(old, row, text[len(indent) :])
        return self._characters.adapt(text)

    def _adapt_blank_line(self, text: str) -> str:
        """Adapt a blank line, which is ambiguous if it is of white space and the lines are indented
        differently.
        """
        map_indent = self._map_indent
        if not text or self._aligned.is_exact or map_indent is None or map_indent(text) in (text, None):
            return text
        meant = {self._source.lines[row] for i, row in self._row_of.items() if self._lines[i].text == text}
        if len(meant) != 1:
            raise AmbiguousEdit(
                "how much white space a blank line of `new` is to have is not clear: leave it empty"
            )
        return meant.pop()

    def _indent_line(self, number: int, text: str, base: int | None) -> str:
        indent, raw, shown = normalize_indent(text), indent_of(text), repr(text.strip()[:60])
        if not raw.isascii() and not self._characters.is_learned(raw):
            raise AmbiguousEdit(
                f"whether {shown} is to begin with a no-break space or the like is not clear: give plain ones"
            )
        if (
            self._odd_first
            and indent == self._odd_first[0]
            and not has_new_line_before(self._aligned, number)
        ):
            return self._odd_first[1] + text.lstrip()
        if self._aligned.is_exact and is_tab_indented([text]) is None:
            return text
        mapped = self._map_indent(indent) if self._map_indent else self._find_nearest_indent(indent, base)
        if mapped is None:
            raise AmbiguousEdit(
                f"how deep to indent {shown} is not clear: give the indentation as in the file"
            )
        if "\t" in mapped and mapped.endswith(" ") and self._may_be_tabs(indent):
            raise AmbiguousEdit(
                f"whether {shown} is to be indented by tabs alone is not clear: the file mixes them with "
                "spaces; give it as it is to be"
            )
        if indent and mapped and (indent[0] == "\t") != (mapped[0] == "\t") and not self._shows_indent():
            raise AmbiguousEdit(
                f"whether {shown} is to be indented by tabs or by spaces is not clear: give it as the "
                "file has it, or a line of the file that is indented"
            )
        return mapped + text[len(raw) :]

    def _iter_raw_indents(self) -> Iterator[tuple[str, str]]:
        """Yield the indentation of every found line, the model's as it is given, and the file's."""
        for i, row in self._row_of.items():
            yield indent_of(self._lines[i].text), indent_of(self._source.lines[row])

    def _shows_indent(self) -> bool:
        """Return whether any found line is indented both in the model's text and in the file."""
        return any(given and there for given, there in self._iter_raw_indents())

    def _may_be_tabs(self, indent: str) -> bool:
        """Return whether so many spaces may represent tabs, as wide as those of another line given with
        spaces.
        """
        widths = (
            len(given) // len(there)
            for given, there in self._iter_raw_indents()
            if given and there and not given.strip(" ") and not there.strip("\t")
            if len(given) % len(there) == 0
        )
        return bool(indent) and not indent.strip(" ") and any(len(indent) % width == 0 for width in widths)

    def _find_nearest_indent(self, indent: str, base: int | None) -> str | None:
        """Return, without one mapping for all lines, the indentation of the replaced line, or its meaning
        elsewhere.
        """
        if base is not None and indent_of(self._lines[base].text) == indent:
            return indent_of(self._source.lines[self._row_of[base]])
        meant = {
            there
            for i, (_, there) in self._aligned.indents.items()
            if indent_of(self._lines[i].text) == indent
        }
        return meant.pop() if len(meant) == 1 else None


def find_odd_first(aligned: LineAlignment) -> IndentPair | None:
    """Return the indentation of the first line if it alone lacks some: a model that starts copying within the
    indentation gives only this line without all of it.
    """
    pairs = list(aligned.indents.values())
    if len(pairs) < 2 or any(given != there for given, there in pairs[1:]):
        return None
    given, there = pairs[0]
    return pairs[0] if given != there and there.endswith(given) else None


def has_new_line_before(aligned: LineAlignment, number: int) -> bool:
    """Return whether a line of the new text that is not blank precedes this one."""
    return any(line.op != "-" and line.text.strip() for line in aligned.lines[:number])


def map_old_lines(aligned: LineAlignment) -> dict[str, str]:
    """Map each old line to the file's: a moved line of the new text is taken from there. If the new text has
    more of them, some are new, and none is mapped.
    """
    if aligned.is_exact:
        return {}
    known: dict[str, set[str]] = {}
    for i, row in aligned.row_of.items():
        known.setdefault(aligned.lines[i].text, set()).add(aligned.source.lines[row])
    more = Counter(aligned.added)
    more.subtract(line.text for line in aligned.lines if line.op == "-")
    return {text: lines.pop() for text, lines in known.items() if len(lines) == 1 and more[text] <= 0}


def _fit_indentation(aligned: LineAlignment) -> Mapping | None:
    """Return the mapping for added lines; None if no simple one fits all lines."""
    given = [indent_of(text) for text in aligned.added if text.strip()]
    if aligned.is_exact and not has_mixed_indentation(given, aligned.source.tabs):
        return str  # unchanged: no quoted line is indented differently
    pairs = list(aligned.indents.values())
    if find_odd_first(aligned):
        pairs = pairs[1:]
    return fit_indent_mapping(pairs, aligned.added, aligned.source.lines, aligned.source.tabs)


def _has_spurious_trailing_space(aligned: LineAlignment) -> bool:
    """Return whether all lines of the model end in the same white space, which the file lacks.

    Raises AmbiguousEdit if only some do, and some of these are new: then it may be intended.
    """
    old = [(aligned.lines[i].text, aligned.source.lines[aligned.row_of[i]]) for i in aligned.indents]
    new = [text for text in aligned.added if text.strip()]
    if not any(map(_trailing_space, new)) or any(_trailing_space(line) for _, line in old):
        return False
    if not any(_trailing_space(text) for text, _ in old):
        return False
    if len({_trailing_space(text) for text in (*new, *(text for text, _ in old))}) > 1:
        # no white space counts as a different ending
        raise AmbiguousEdit(
            "whether white space at the ends of lines is meant is not clear: give it as in the file"
        )
    return True


def _trailing_space(line: str) -> str:
    return line[len(line.rstrip()) :]
