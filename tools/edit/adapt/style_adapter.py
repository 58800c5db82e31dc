"""Adaptation of added lines to the file's indentation, quotes and, where they are versions of old lines,
words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tools.edit.adapt.token_merge import merge_words, pair_versions
from tools.edit.edit_model import Line
from tools.edit.indentation import (
    OPENERS,
    Mapping,
    compute_min_bracket_depth,
    fit_indent_mapping,
    has_mixed_indentation,
    indent_of,
    is_tab_indented,
    is_uniform_indent_change,
    measure_indent_unit,
)
from tools.edit.match.ambiguous import AmbiguousEdit
from tools.edit.match.matchers import LOOK_ALIKES, Rung, Source, has_distinctive_word

APPROXIMATE = (Rung.PUNCTUATION, Rung.ANCHORS)
"""Rungs at which words of the file and of the model's old lines differ, so that the new lines are merged with
them.
"""


Pair = tuple[str, str]
"""The model's indentation of a line, and the file's."""

_BLOCK = ("{", ":")
"""Endings of a line whose block is deeper, on the next line."""

_CLOSERS = "})]{"


class StyleAdapter:
    """Adapts added lines to the style of the file, as far as the matched lines show it."""

    def __init__(self, source: Source, lines: Sequence[Line], row_of: dict[int, int], rung: Rung) -> None:
        self._source, self._lines, self._row_of, self._rung = source, lines, row_of, rung
        self._indent = self._fit_indentation()
        self._taken_over = self._map_old_lines()
        self._needs_bases = self._indent is None or rung in APPROXIMATE
        self._characters = self._learn_characters() if rung is not Rung.EXACT else {}
        self._strips = rung is not Rung.EXACT and self._has_spurious_trailing_space()
        if rung is not Rung.EXACT:
            self._refuse_flat_block()

    def _refuse_flat_block(self) -> None:
        """Raise AmbiguousEdit if old lines lack indentation and a new block opens without any: the depth of
        its lines is lost.
        """
        lost = (
            normalize_indent(self._lines[i].text) != indent_of(self._source.lines[row])
            for i, row in self._row_of.items()
            if self._lines[i].text.strip() and self._lines[i].text.strip() == self._source.lines[row].strip()
        )
        if not any(lost):
            return
        new = [line for line in self._lines if line.op != "-" and line.text.strip()]
        for one, other in pairwise(new):
            fresh = any(line.op == "+" and line.text not in self._taken_over for line in (one, other))
            opens = one.text.rstrip().endswith(_BLOCK) and other.text.strip()[0] not in _CLOSERS
            if fresh and opens and len(indent_of(other.text)) <= len(indent_of(one.text)):
                raise AmbiguousEdit(
                    "the lines are not indented as in the file: give `old` and `new` with their indentation"
                )

    def _has_spurious_trailing_space(self) -> bool:
        """Return whether all lines of the model end in the same white space, which the file lacks.

        Raises AmbiguousEdit if only some do, and some of these are new: then it may be intended.
        """
        old = [(self._lines[i].text, self._source.lines[row]) for i, row in self._row_of.items()]
        old = [(text, line) for text, line in old if text.strip()]
        new = [line.text for line in self._lines if line.op == "+" and line.text.strip()]
        if not any(map(_has_trailing_space, new)) or any(_has_trailing_space(line) for _, line in old):
            return False
        if not any(_has_trailing_space(text) for text, _ in old):
            return False
        ends = {text[len(text.rstrip()) :] for text in (*new, *(text for text, _ in old))}
        if len(ends) > 1:  # no white space counts as a different ending
            raise AmbiguousEdit(
                "whether white space at the ends of lines is meant is not clear: give it as in the file"
            )
        return True

    def adapt_lines(self, removed: Sequence[int], added: Sequence[int]) -> Iterator[str]:
        """Adapt the added lines that replace removed ones, both by their numbers. Raises AmbiguousEdit."""
        for line in self._adapt_unstripped(removed, added):
            yield line.rstrip() if self._strips else line

    def _adapt_unstripped(self, removed: Sequence[int], added: Sequence[int]) -> Iterator[str]:
        bases = dict(pair_versions(self._lines, removed, added)) if self._needs_bases else {}
        for i in added:
            text = self._lines[i].text
            if not text.strip():
                yield self._adapt_blank_line(text)
                continue
            if (known := self._taken_over.get(text)) is not None:
                yield known
                continue
            indented = self._indent_line(i, text, bases.get(i))
            yield self._adapt_words(indented, bases.get(i))

    def _map_old_lines(self) -> dict[str, str]:
        """Map each old line to the file's: a moved line of the new text is taken from there. If the new text
        has more of them, some are new, and none is mapped.
        """
        if self._rung is Rung.EXACT:
            return {}
        known: dict[str, set[str]] = {}
        for i, row in self._row_of.items():
            known.setdefault(self._lines[i].text, set()).add(self._source.lines[row])
        more = Counter(line.text for line in self._lines if line.op == "+")
        more.subtract(line.text for line in self._lines if line.op == "-")
        return {text: lines.pop() for text, lines in known.items() if len(lines) == 1 and more[text] <= 0}

    def _adapt_blank_line(self, text: str) -> str:
        """Adapt a blank line. Raises AmbiguousEdit if it is of white space and the lines are indented
        differently.
        """
        if not text or self._rung is Rung.EXACT or self._indent is None or self._indent(text) in (text, None):
            return text
        meant = {self._source.lines[row] for i, row in self._row_of.items() if self._lines[i].text == text}
        if len(meant) != 1:
            raise AmbiguousEdit(
                "how much white space a blank line of `new` is to have is not clear: leave it empty"
            )
        return meant.pop()

    def _fit_indentation(self) -> Mapping | None:
        added = [line.text for line in self._lines if line.op == "+"]
        self._odd_first: tuple[str, str] | None = None
        given = [indent_of(text) for text in added if text.strip()]
        if self._rung is Rung.EXACT and not has_mixed_indentation(given, self._source.tabs):
            return str  # unchanged: no quoted line is indented differently
        pairs = [
            (normalize_indent(self._lines[i].text), indent_of(self._source.lines[row]))
            for i, row in self._row_of.items()
            if self._lines[i].text.strip()
        ]
        first, rest = pairs[:1], pairs[1:]
        if len(pairs) == 1 and first[0][0] != first[0][1] and self._rung is not Rung.EXACT:
            self._refuse_two_depths(*first[0])
        lacks = bool(first) and first[0][0] != first[0][1] and first[0][1].endswith(first[0][0])
        if lacks and rest and all(m == f for m, f in rest):
            # a model that starts copying within the indentation gives only the first line without all of it
            self._odd_first = first[0]
            if first[0][0] and is_uniform_indent_change(pairs) and any(given):
                raise AmbiguousEdit(
                    "whether the first line alone is indented otherwise than in the file, or all levels are, is not "
                    "clear: give the lines as in the file"
                )
            pairs = rest
        elif self._rung is not Rung.EXACT:
            if added:
                self._refuse_other_depth()
            if rest and not is_uniform_indent_change(pairs):
                self._refuse_two_slips(first[0], rest, added)
                if len(first[0][0]) >= len(first[0][1]):
                    self._refuse_merged_depths()
        return fit_indent_mapping(pairs, added, self._source.lines, self._source.tabs)

    def _refuse_two_slips(self, first: Pair, rest: Sequence[Pair], added: Sequence[str]) -> None:
        """Raise AmbiguousEdit if the first line lacks indentation, the others differ from the file, too, and
        a new line at another depth could follow either.
        """
        (given, there), known = first, {model for model, _ in rest}
        mapping = fit_indent_mapping(rest, added, self._source.lines, self._source.tabs)
        seen = mapping(given) if mapping else None
        lacks = not given and bool(there) if seen is None else seen != there and there.endswith(seen)
        new = [i for i, line in enumerate(self._lines) if line.op == "+" and line.text.strip()]
        depths = [(i, normalize_indent(self._lines[i].text)) for i in new]
        for i, depth in depths:
            if (
                lacks
                and given not in known
                and depth not in known
                and (depth != given or self._has_new_line_before(i))
            ):
                raise AmbiguousEdit(
                    f"how deep to indent {self._lines[i].text.strip()[:60]!r} is not clear: the first line is not "
                    "indented like the others; give them all as in the file"
                )

    def _refuse_merged_depths(self) -> None:
        """Raise AmbiguousEdit if two depths, neither only the first line's, are one in the file: other lines
        may be meant.
        """
        pairs = {
            (normalize_indent(self._lines[i].text), indent_of(self._source.lines[row]))
            for i, row in self._row_of.items()
            if has_distinctive_word(self._lines[i].text)
        }
        if len({there for _, there in pairs}) < len(pairs):
            raise AmbiguousEdit(
                "lines of several depths stand at one in the file: give them with their indentation"
            )

    def _refuse_other_depth(self) -> None:
        """Raise AmbiguousEdit if some lines match at the given depth, and one of brackets alone does not,
        although lines are added next to it, or new lines share only its depth: it may be another one.
        """
        same, other = list[int](), list[int]()
        for i, row in self._row_of.items():
            if self._lines[i].text.strip():
                as_given = normalize_indent(self._lines[i].text) == indent_of(self._source.lines[row])
                (same if as_given else other).append(i)
        if not any(
            has_distinctive_word(self._lines[i].text) and indent_of(self._lines[i].text) for i in same
        ):
            return
        known = {indent_of(self._lines[i].text) for i in same}
        new = {indent_of(line.text) for line in self._lines if line.op == "+" and line.text.strip()} - known
        for i in other:
            text = self._lines[i].text
            if not has_distinctive_word(text) and (indent_of(text) in new or self._has_insertion_beside(i)):
                raise AmbiguousEdit(
                    f"{text.strip()[:60]!r} stands at another depth there, and the other lines do not: "
                    "give it as the file has it"
                )

    def _has_insertion_beside(self, number: int) -> bool:
        """Return whether lines are only added directly before or after this line."""
        for by in (-1, 1):
            at, ops = number + by, set[str]()
            while 0 <= at < len(self._lines) and (op := self._lines[at].op) != " ":
                ops.add(op)
                at += by
            if ops == {"+"}:
                return True
        return False

    def _refuse_two_depths(self, given: str, indent: str) -> None:
        """Raise AmbiguousEdit for one line without its indentation, if the added ones may have theirs, or
        lack as much.

        given: the model's indentation of that line; indent: the file's
        """
        later = [line.text for line in self._lines if line.op == "+" and line.text.startswith((" ", "\t"))]
        widths = [len(indent_of(line)) for line in later]
        unit = 1 if "\t" in indent else measure_indent_unit(self._source.lines)
        if given:
            unclear = (len(indent) - len(given)) % unit != 0 and any(width != len(given) for width in widths)
        else:
            unclear = bool(later) and (
                min(widths) >= len(indent)
                or any(width % unit for width in widths)
                or not self._has_block_opener()
            )
        if unclear or (not given and (self._is_leaving_block(indent) or self._is_continued_outside(indent))):
            raise AmbiguousEdit(
                "`old` lacks its indentation, so that of the other lines is not clear: give it in both"
            )

    def _is_leaving_block(self, indent: str) -> bool:
        """Return whether the block ends after its one given line, and new lines at the margin follow a blank
        one: the margin may be the block's, or the file's.
        """
        last = max(self._row_of.values())
        below = next((line for line in self._source.lines[last + 1 :] if line.strip()), "")
        new = [line for line in self._lines if line.op != "-"]
        apart = any(
            not one.text.strip() and other.op == "+" and other.text[:1].strip()
            for one, other in pairwise(new)
        )
        return apart and len(indent_of(below)) < len(indent)

    def _is_continued_outside(self, indent: str) -> bool:
        """Return whether new lines at the margin, after the one given without its indentation, may be meant
        there: the file continues less deep, or they close the block of that line.
        """
        new = [line for line in self._lines if line.op != "-" and line.text.strip()]
        if not any(line.op == "+" and not indent_of(line.text) for line in new[1:]):
            return False
        last = max(self._row_of.values())
        below = next((line for line in self._source.lines[last + 1 :] if line.strip()), "")
        return (
            len(indent_of(below)) < len(indent)
            or compute_min_bracket_depth("\n".join(line.text for line in new)) < 0
        )

    def _has_block_opener(self) -> bool:
        """Return whether the line before the first indented new line opens a block."""
        new = [line.text for line in self._lines if line.op != "-" and line.text.strip()]
        first = next((i for i, text in enumerate(new) if indent_of(text)), 0)
        above = new[first - 1].rstrip() if first > 0 else ""
        return above.endswith(OPENERS) and not above.endswith(".")  # a sentence may end there

    def _indent_line(self, number: int, text: str, base: int | None) -> str:
        indent, raw = normalize_indent(text), indent_of(text)
        if not raw.isascii() and not any(character in self._characters for character in raw):
            raise AmbiguousEdit(
                f"whether {text.strip()[:60]!r} is to begin with a no-break space or the like is not clear: give plain "
                "ones"
            )
        if self._odd_first and indent == self._odd_first[0] and not self._has_new_line_before(number):
            return self._odd_first[1] + text.lstrip()
        if self._rung is Rung.EXACT and is_tab_indented([text]) is None:
            return text
        mapped = self._indent(indent) if self._indent else self._find_nearest_indent(number, indent, base)
        if mapped is None:
            raise AmbiguousEdit(
                f"how deep to indent {text.strip()[:60]!r} is not clear: give the indentation as in the file"
            )
        if "\t" in mapped and mapped.endswith(" ") and self._may_be_tabs(indent):
            raise AmbiguousEdit(
                f"whether {text.strip()[:60]!r} is to be indented by tabs alone is not clear: the file mixes them with "
                "spaces; give it as it is to be"
            )
        shown = any(
            indent_of(self._lines[i].text) and indent_of(self._source.lines[row])
            for i, row in self._row_of.items()
        )
        if indent and mapped and (indent[0] == "\t") != (mapped[0] == "\t") and not shown:
            raise AmbiguousEdit(
                f"whether {text.strip()[:60]!r} is to be indented by tabs or by spaces is not clear: give it as the "
                "file has it, or a line of the file that is indented"
            )
        return mapped + text[len(indent_of(text)) :]

    def _may_be_tabs(self, indent: str) -> bool:
        """Return whether so many spaces may represent tabs, as wide as those of another line given with
        spaces.
        """
        pairs = (
            (indent_of(self._lines[i].text), indent_of(self._source.lines[row]))
            for i, row in self._row_of.items()
        )
        widths = (
            len(given) // len(there)
            for given, there in pairs
            if given
            and there
            and not given.strip(" ")
            and not there.strip("\t")
            and len(given) % len(there) == 0
        )
        return bool(indent) and not indent.strip(" ") and any(len(indent) % width == 0 for width in widths)

    def _has_new_line_before(self, number: int) -> bool:
        return any(line.op != "-" and line.text.strip() for line in self._lines[:number])

    def _find_nearest_indent(self, number: int, indent: str, base: int | None) -> str | None:
        """Return, without one mapping for all lines, the indentation of the replaced line, or its meaning
        elsewhere.
        """
        if base is not None and indent_of(self._lines[base].text) == indent:
            return indent_of(self._source.lines[self._row_of[base]])
        meant = {
            indent_of(self._source.lines[row])
            for i, row in self._row_of.items()
            if self._lines[i].text.strip() and indent_of(self._lines[i].text) == indent
        }
        return meant.pop() if len(meant) == 1 else None

    def _adapt_words(self, text: str, base: int | None) -> str:
        if base is not None and self._rung in APPROXIMATE:
            old, row = self._lines[base].text.strip(), self._source.lines[self._row_of[base]].strip()
            if old != row:
                indent = indent_of(text)
                text = indent + merge_words(old, row, text[len(indent) :])
        if self._characters and not text.isascii():
            return "".join(
                self._characters.get(character) or self._adapt_character(character) for character in text
            )
        return text

    def _adapt_character(self, character: str) -> str:
        """Adapt a look-alike of another kind than the proven ones. It is intended if the file has it, or if
        the model writes the plain one as well. Raises AmbiguousEdit otherwise.
        """
        plain = LOOK_ALIKES.get(ord(character), character)
        if plain == character or character in self._source.text:
            return character
        if plain is None:
            raise AmbiguousEdit(
                f"whether {character!r}, which cannot be seen, is meant is not clear: leave it out"
            )
        if any(plain in line.text for line in self._lines):
            return character
        raise AmbiguousEdit(
            f"whether {character!r} is meant or {plain!r} is not clear: write quotes as the file does"
        )

    def _learn_characters(self) -> dict[str, str]:
        """Learn from the matched lines the look-alikes of an ASCII character that is plain in the file.

        A rule for one look-alike holds for all of its character: opening quotes are learned from closing
        ones.
        """
        learned: set[str | None] = set()
        spoiled: set[str | None] = set()
        for i, row in self._row_of.items():
            mine, there = self._lines[i].text, self._source.lines[row]
            for character in set(mine):
                plain = LOOK_ALIKES.get(ord(character), character)
                if not character.isascii() and plain != character:
                    (spoiled if character in there else learned).add(plain)
        added = {character for line in self._lines if line.op == "+" for character in line.text.strip()}
        unclear = {
            LOOK_ALIKES.get(ord(character), character) for character in added if not character.isascii()
        }
        if learned & (spoiled | added & {"'", '"', " "}) & unclear:
            raise AmbiguousEdit(
                "the file has both look-alikes and plain characters there: give them as the file has them"
            )
        plain_of = {chr(code): plain for code, plain in LOOK_ALIKES.items() if plain in learned - spoiled}
        return {character: plain or "" for character, plain in plain_of.items()}


def _has_trailing_space(line: str) -> bool:
    return line != line.rstrip()


def normalize_indent(text: str) -> str:
    """Return the indentation of a model's line, with look-alikes of a space as spaces."""
    indent = indent_of(text)
    return indent if indent.isascii() else indent.translate(LOOK_ALIKES)
