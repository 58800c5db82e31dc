"""From a site to the new lines: context keeps the file's bytes, added lines take on the file's manner."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.edit.changes import Line
from tools.edit.formats.placeholders import stands_for_lines
from tools.edit.indentation import OPENERS, Mapping, fitted, indent_of, tab_indented, unit_of
from tools.edit.ladder import LOOK_ALIKES, Rung, Site, Source

APPROXIMATE = (Rung.PUNCTUATION, Rung.ANCHORS)
"""Rungs at which words of the file and of the model's old lines differ, so that the new lines are merged with them."""


class Unclear(ValueError):
    """The site is known, but not what should stand there; the text, for the model, says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Splice:
    """Lines `first` to `end` (not included, from 0) of a file are replaced by `lines`."""

    first: int
    end: int
    lines: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Block:
    """Removed and added lines that stand together, and the file's lines that context before and after them is.

    torn: a line of context within it is not in the file
    ghost: a blank line of context beside them is not in the file; ghost_first: one before them
    lost: a blank line to be removed is not in the file
    """

    removed: list[int]
    added: list[int]
    before: int | None
    after: int | None = None
    torn: bool = False
    ghost: bool = False
    ghost_first: bool = False
    lost: bool = False


def splices(source: Source, lines: Sequence[Line], site: Site, rung: Rung) -> list[Splice]:
    """What to replace by what, for a hunk whose old lines were found at a site. Raises Unclear."""
    old_numbers = [i for i, line in enumerate(lines) if line.op != "+"]
    row_of = {old_numbers[wanted]: row for wanted, row in site.pairs}
    adapt = _Adapter(source, lines, row_of, rung)
    found = []
    if any(
        line.op == "-" and stands_for_lines(line.text) and i not in row_of for i, line in enumerate(lines)
    ):
        raise Unclear(
            "`old` leaves lines out (...), and whether `new` is to keep them is not clear: give them all"
        )
    _refuse_unseen(source, lines, site, row_of)
    framed = _framed(lines, row_of)
    for block in _blocks(lines, row_of):
        blank = any(not lines[i].text.strip() for i in block.added)
        inside = block.removed and (block.before is not None or not block.ghost_first)
        if (block.ghost and block.added and not framed and not (inside and not blank)) or (
            block.lost and blank
        ):
            raise Unclear(
                "`old` has a blank line that the file has not, beside the lines to add: leave it out"
            )
        first, end = _range(source, lines, block, row_of)
        found.append(Splice(first=first, end=end, lines=tuple(adapt.block(block))))
    return found


def _refuse_unseen(source: Source, lines: Sequence[Line], site: Site, row_of: dict[int, int]) -> None:
    """A line that `old` skips and `new` brings has been moved, or forgotten once: nobody knows how often it is
    to stand there. So has one whose neighbours are moved: it may go with them, or stay."""
    added = {line.text.strip() for line in lines if line.op == "+"} - {""}
    moved = {row for i, row in row_of.items() if lines[i].op == "-" and lines[i].text.strip() in added}
    seen = {row for _, row in site.pairs}
    for row in range(site.first, site.end):
        if row in seen or not source.lines[row].strip() or _elided(lines, site, row):
            continue
        if source.lines[row].strip() in added or not moved.isdisjoint((row - 1, row + 1)):
            raise Unclear(
                f"line {row + 1} ({source.lines[row].strip()[:60]!r}) is missing from `old`: give it in both"
            )


def _elided(lines: Sequence[Line], site: Site, row: int) -> bool:
    """The line stands where `old` says that it leaves lines out."""
    old = [line.text for line in lines if line.op != "+"]
    above = max((number for number, there in site.pairs if there < row), default=0)
    below = min((number for number, there in site.pairs if there > row), default=len(old))
    return any(stands_for_lines(text) for text in old[above:below])


def _blocks(lines: Sequence[Line], row_of: dict[int, int]) -> Iterator[_Block]:
    block: _Block | None = None
    last: int | None = None
    ghost = False
    for i, line in enumerate(lines):
        if line.op == " ":
            if i not in row_of:
                ghost = ghost or not line.text.strip()
                if block:
                    block.ghost = block.ghost or ghost
                    block.torn = block.torn or bool(line.text.strip())
                if stands_for_lines(line.text):  # what follows stands somewhere else
                    if block:
                        yield block
                    block, last, ghost = None, None, False
                continue  # else a blank line, or one that the model made up: nothing in the file stands for it
            if block:
                block.after = row_of[i]
                yield block
                block = None
            last, ghost = row_of[i], False
            continue
        if block and block.torn:
            raise Unclear("a line between those to change is not in the file: give it as the file has it")
        block = block or _Block(removed=[], added=[], before=last, ghost=ghost, ghost_first=ghost)
        if line.op == "+":
            block.added.append(i)
        elif i in row_of:
            block.removed.append(i)
        elif not line.text.strip():
            block.lost = True
    if block:
        yield block


def _framed(lines: Sequence[Line], row_of: dict[int, int]) -> bool:
    """Old and new text both begin and end with a blank line that the file has not: a model's way to quote."""
    ends = (0, len(lines) - 1)
    return all(lines[i].op == " " and not lines[i].text.strip() and i not in row_of for i in ends)


def _range(source: Source, lines: Sequence[Line], block: _Block, row_of: dict[int, int]) -> tuple[int, int]:
    """The file's lines that a block replaces."""
    if block.removed:
        rows = [row_of[i] for i in block.removed]
        within = set(range(rows[0], rows[-1] + 1)) - set(rows)
        if within:
            raise Unclear("lines that `old` does not have stand between those to replace: give them, too")
        for edge in (rows[0] - 1, rows[-1] + 1):
            inside = block.before is not None and block.before < edge < rows[0]
            inside |= block.after is not None and rows[-1] < edge < block.after
            if inside and not source.lines[edge].strip():
                raise Unclear(
                    f"line {edge + 1} is blank, and whether it stays is not clear: give it in `old`, too"
                )
            if inside and len(block.added) > len(block.removed):
                raise Unclear(
                    f"line {edge + 1}, which `old` does not have, stands beside lines to add: give it, too"
                )
        return rows[0], rows[-1] + 1
    if block.before is None and block.after is None:
        raise Unclear("it adds lines, but no line of the file says where")
    if block.before is None:
        assert block.after is not None
        return block.after, block.after
    if block.after is None or block.after == block.before + 1:
        return block.before + 1, block.before + 1
    gap = source.lines[block.before + 1 : block.after]
    if any(line.strip() for line in gap):
        raise Unclear("lines that `old` does not have stand where it adds some")
    starts_blank = not lines[block.added[0]].text.strip()
    ends_blank = not lines[block.added[-1]].text.strip()
    if starts_blank == ends_blank:
        raise Unclear(
            "the file has a blank line there: give it too, so that it is clear on which side to add"
        )
    return (block.before + 1, block.before + 1) if starts_blank else (block.after, block.after)


class _Adapter:
    """Brings added lines into the manner of the file, as far as the matched lines show it."""

    def __init__(self, source: Source, lines: Sequence[Line], row_of: dict[int, int], rung: Rung) -> None:
        self._source, self._lines, self._row_of, self._rung = source, lines, row_of, rung
        self._indent = self._fit()
        self._taken_over = self._lines_of_old()
        self._needs_bases = self._indent is None or rung in APPROXIMATE
        self._characters = self._learned() if rung is not Rung.EXACT else {}

    def block(self, block: _Block) -> Iterator[str]:
        bases = dict(_versions(self._lines, block.removed, block.added)) if self._needs_bases else {}
        for i in block.added:
            text = self._lines[i].text
            if not text.strip():
                yield self._blank(text)
                continue
            if (known := self._taken_over.get(text)) is not None:
                yield known
                continue
            indented = self._indented(i, text, bases.get(i))
            yield self._worded(indented, bases.get(i))

    def _lines_of_old(self) -> dict[str, str]:
        """For a line of the old text the file's: where the new text has it too, moved, that is what is meant."""
        if self._rung is Rung.EXACT:
            return {}
        known: dict[str, set[str]] = {}
        for i, row in self._row_of.items():
            known.setdefault(self._lines[i].text, set()).add(self._source.lines[row])
        return {text: lines.pop() for text, lines in known.items() if len(lines) == 1}

    def _blank(self, text: str) -> str:
        mapped = self._indent(text) if self._indent and text and self._rung is not Rung.EXACT else text
        return text if mapped is None else mapped

    def _fit(self) -> Mapping | None:
        added = [line.text for line in self._lines if line.op == "+"]
        pairs = [
            (_given_indent(self._lines[i].text), indent_of(self._source.lines[row]))
            for i, row in self._row_of.items()
            if self._lines[i].text.strip()
        ]
        self._odd_first: tuple[str, str] | None = None
        first, rest = pairs[:1], pairs[1:]
        if len(pairs) == 1 and first[0][0] != first[0][1] and self._rung is not Rung.EXACT:
            self._refuse_two_depths(*first[0])
        lacks = bool(first) and first[0][0] != first[0][1] and first[0][1].endswith(first[0][0])
        if lacks and rest and all(m == f for m, f in rest):
            # a model that starts copying within the indentation gives only the first line without all of it
            self._odd_first = first[0]
            pairs = rest
        return fitted(pairs, added, self._source.lines, self._source.tabs)

    def _refuse_two_depths(self, given: str, indent: str) -> None:
        """Of one line without its indentation, the others to add may have theirs, or lack as much of it.

        given: the model's indentation of that line; indent: the file's
        """
        later = [line.text for line in self._lines if line.op == "+" and line.text.startswith((" ", "\t"))]
        widths = [len(indent_of(line)) for line in later]
        unit = 1 if "\t" in indent else unit_of(self._source.lines)
        if given:
            unclear = (len(indent) - len(given)) % unit != 0 and any(width != len(given) for width in widths)
        else:
            unclear = bool(later) and (
                min(widths) >= len(indent) or any(width % unit for width in widths) or not self._opens()
            )
        if unclear:
            raise Unclear(
                "`old` lacks its indentation, so that of the other lines is not clear: give it in both"
            )

    def _opens(self) -> bool:
        """Before the first of the new lines that is indented stands one that opens a block."""
        new = [line.text for line in self._lines if line.op != "-" and line.text.strip()]
        first = next((i for i, text in enumerate(new) if indent_of(text)), 0)
        return first > 0 and new[first - 1].rstrip().endswith(OPENERS)

    def _indented(self, number: int, text: str, base: int | None) -> str:
        indent = _given_indent(text)
        if self._odd_first and indent == self._odd_first[0] and not self._new_lines_before(number):
            return self._odd_first[1] + text.lstrip()
        if self._rung is Rung.EXACT and tab_indented([text]) is None:
            return text
        mapped = self._indent(indent) if self._indent else self._nearest(number, indent, base)
        if mapped is None:
            raise Unclear(
                f"how deep to indent {text.strip()[:60]!r} is not clear: give the indentation as in the file"
            )
        return mapped + text[len(indent_of(text)) :]

    def _new_lines_before(self, number: int) -> bool:
        return any(line.op != "-" for line in self._lines[:number])

    def _nearest(self, number: int, indent: str, base: int | None) -> str | None:
        """Without one mapping for all lines: that of the line it replaces, or what the indentation means elsewhere."""
        if base is not None and indent_of(self._lines[base].text) == indent:
            return indent_of(self._source.lines[self._row_of[base]])
        meant = {
            indent_of(self._source.lines[row])
            for i, row in self._row_of.items()
            if self._lines[i].text.strip() and indent_of(self._lines[i].text) == indent
        }
        return meant.pop() if len(meant) == 1 else None

    def _worded(self, text: str, base: int | None) -> str:
        if base is not None and self._rung in APPROXIMATE:
            old, row = self._lines[base].text.strip(), self._source.lines[self._row_of[base]].strip()
            if old != row:
                indent = indent_of(text)
                text = indent + merged(old, row, text[len(indent) :])
        if self._characters and not text.isascii():
            return "".join(
                self._characters.get(character) or self._typographic(character) for character in text
            )
        return text

    def _typographic(self, character: str) -> str:
        """One kind of look-alike is proven to be the model's own. One of another kind may be, too, or be meant: it
        is, where the file has it, or the model writes the plain one as well."""
        plain = LOOK_ALIKES.get(ord(character), character)
        if plain is None:
            return "" if character not in self._source.text else character
        if plain == character or character in self._source.text:
            return character
        if any(plain in line.text for line in self._lines):
            return character
        raise Unclear(
            f"whether {character!r} is meant or {plain!r} is not clear: write quotes as the file does"
        )

    def _learned(self) -> dict[str, str]:
        """Look-alikes of an ASCII character, by the matched lines, in which the file has that character.

        What holds for one of its look-alikes holds for all: opening quotes are learned from closing ones.
        """
        learned: set[str | None] = set()
        spoiled: set[str | None] = set()
        for i, row in self._row_of.items():
            mine, there = self._lines[i].text, self._source.lines[row]
            for character in set(mine):
                plain = LOOK_ALIKES.get(ord(character), character)
                if not character.isascii() and plain != character:
                    (spoiled if character in there else learned).add(plain)
        added = {character for line in self._lines if line.op == "+" for character in line.text}
        unclear = {
            LOOK_ALIKES.get(ord(character), character) for character in added if not character.isascii()
        }
        if learned & (spoiled | added & {"'", '"'}) & unclear:
            raise Unclear(
                "the file has both look-alikes and plain characters there: give them as the file has them"
            )
        plain_of = {chr(code): plain for code, plain in LOOK_ALIKES.items() if plain in learned - spoiled}
        return {character: plain or "" for character, plain in plain_of.items()}


def _given_indent(text: str) -> str:
    """The indentation of a model's line; what looks like a space there is one."""
    indent = indent_of(text)
    return indent if indent.isascii() else indent.translate(LOOK_ALIKES)


def merged(base: str, ours: str, theirs: str) -> str:
    """Three-way merge of one line by words: what changed from `base` to `theirs`, done to `ours`.

    Where both changed the same words, and for white space, `theirs` stands.
    """
    base_words, our_words, their_words = _words(base), _words(ours), _words(theirs)
    kept = dict(_equal(base_words, their_words))  # word of base → the same word in theirs
    changed = _replaced(base_words, our_words)
    replacement: dict[int, str] = {}
    dropped: set[int] = set()
    for start, end, words in changed:
        if start == end or not all(i in kept for i in range(start, end)):
            continue
        first = kept[start]
        replacement[first] = "".join(words)
        dropped |= {kept[i] for i in range(start + 1, end)}
    return "".join(replacement.get(i, word) for i, word in enumerate(their_words) if i not in dropped)


_WORDS = re.compile(r"\w+|[ \t]+|[^\w \t]")
"""A no-break space is a character of the file's, not white space that anybody may change."""


def _words(text: str) -> list[str]:
    return _WORDS.findall(text)


def _equal(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[int, int]]:
    from difflib import SequenceMatcher

    for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        yield from ((block.a + i, block.b + i) for i in range(block.size))


def _replaced(base: Sequence[str], ours: Sequence[str]) -> list[tuple[int, int, list[str]]]:
    from difflib import SequenceMatcher

    codes = SequenceMatcher(None, base, ours, autojunk=False).get_opcodes()
    return [
        (a, b, list(ours[c:d]))
        for tag, a, b, c, d in codes
        if tag != "equal" and any(word.strip(" \t") for word in [*base[a:b], *ours[c:d]])
    ]


def _versions(
    lines: Sequence[Line], removed: Sequence[int], added: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """(added, removed) lines that are versions of one another, in order."""
    from difflib import SequenceMatcher

    start = 0
    matcher = SequenceMatcher(autojunk=False)
    for new in added:
        matcher.set_seq2(lines[new].text.strip())
        for position in range(start, len(removed)):
            matcher.set_seq1(lines[removed[position]].text.strip())
            if matcher.quick_ratio() > 0.6 and matcher.ratio() > 0.6:
                yield new, removed[position]
                start = position + 1
                break
