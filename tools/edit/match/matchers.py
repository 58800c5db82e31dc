"""Matching of lines in a file: rungs from exact to approximate, each accepted only if it gives one site.

A rung compares lines by a `key`. Lines that are equal under the key of a rung correspond to one another
there. The difference between the model's line and the file's is learned from the match and undone in the
lines that the model adds (see `tools.edit.reindent`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, pairwise

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.edit.look_alikes import LOOK_ALIKES


class Rung(StrEnum):
    """How a site was found, from strict to lenient."""

    EXACT = "exact"
    TRAILING = "trailing space"
    INDENTATION = "indentation"
    PUNCTUATION = "punctuation"
    WHITE_SPACE = "white space"
    ELISION = "elision"
    ANCHORS = "anchors"
    POSITION = "position"
    SYMBOL = "symbol"
    WHOLE = "whole file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place in a file. Lines count from 0.

    first, end: its lines, `end` not included
    pairs: (number of the wanted line, number of the file's line) of those that correspond, in order
    """

    first: int
    end: int
    pairs: tuple[tuple[int, int], ...]

    @classmethod
    def of_lines(cls, first: int, count: int) -> Site:
        """Return the site of `count` wanted lines that all follow one another from a row on."""
        return cls(first=first, end=first + count, pairs=tuple((i, first + i) for i in range(count)))


class Source:
    """The lines of a text, and each line as every rung compares it (computed on first use)."""

    def __init__(self, text: str) -> None:
        self.text = text
        lines = text.split("\n")
        self.ends_with_newline = len(lines) > 1 and lines[-1] == ""
        if self.ends_with_newline or text == "":
            lines.pop()
        self.lines = lines
        self._views: dict[tuple[str, bool], View] = {}

    @cached_property
    def _ends(self) -> list[int]:
        """Cumulative characters of the lines, without line ends: summed without a Python loop, this is hot."""
        return list(accumulate(map(len, self.lines)))

    def offset(self, number: int) -> int:
        """Return the offset of a line; for the number after the last, the end of the text."""
        if number >= len(self.lines):
            return len(self.text)
        return self._ends[number - 1] + number if number else 0

    @cached_property
    def tabs(self) -> bool | None:
        """Whether the text is indented by tabs or spaces; None if by both or not at all. Searched, not
        iterated: this is hot.
        """
        tabs = self.text.startswith("\t") or "\n\t" in self.text
        spaces = self.text.startswith("  ") or "\n  " in self.text
        return tabs if tabs != spaces else None

    def line_at(self, offset: int) -> int:
        """Return the number, from 0, of the line that contains an offset."""
        return self.text.count("\n", 0, offset)

    def line_start(self, offset: int) -> int:
        """Return the offset at which the line that contains an offset begins."""
        return self.text.rfind("\n", 0, offset) + 1

    def before(self, offset: int) -> str:
        """Return the text of an offset's line before it."""
        return self.text[self.line_start(offset) : offset]

    def behind(self, offset: int) -> str:
        """Return the text of an offset's line from it on, without the line end."""
        end = self.text.find("\n", offset)
        return self.text[offset : end if end >= 0 else len(self.text)]

    def is_line_rest(self, start: int, old: str) -> bool:
        """Return whether a text that occurs at `start` is whole lines except for the first one's indentation."""
        return not self.before(start).strip() and self._is_ended(start, old)

    def is_whole_lines(self, start: int, old: str) -> bool:
        """Return whether a text that occurs at `start` is whole lines."""
        return start == self.line_start(start) and self._is_ended(start, old)

    def _is_ended(self, start: int, old: str) -> bool:
        end = start + len(old)
        return old.endswith("\n") or end == len(self.text) or self.text[end] == "\n"

    def view(self, step: Step) -> View:
        name = (step.key.__name__, step.skips_blank)
        if name not in self._views:
            whole = self.view(replace(step, skips_blank=False)) if step.skips_blank else None
            self._views[name] = View(self.lines, step, whole)
        return self._views[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A comparison of lines by key. skips_blank: blank lines are ignored in the file and in the wanted lines"""

    rung: Rung
    key: Callable[[str], str]
    skips_blank: bool = False


def keep_as_is(line: str) -> str:
    return line


def strip_trailing(line: str) -> str:
    return line.rstrip()


def strip_both_ends(line: str) -> str:
    return line.strip()


def normalize_punctuation(line: str) -> str:
    """Replace look-alikes by their ASCII characters, drop invisible ones, and compose accents (NFC)."""
    if line.isascii():
        return line.strip()
    from unicodedata import normalize

    return normalize("NFC", line).translate(LOOK_ALIKES).strip()


def normalize_tokens(line: str) -> str:
    """Keep white space only between two words, and unify quotes."""
    plain = " ".join(normalize_punctuation(line).split())
    return _NEEDLESS.sub("", plain).replace('"', "'") if " " in plain else plain.replace('"', "'")


STEPS: tuple[Step, ...] = (
    Step(rung=Rung.EXACT, key=keep_as_is),
    Step(rung=Rung.TRAILING, key=strip_trailing),
    Step(rung=Rung.TRAILING, key=strip_trailing, skips_blank=True),
    Step(rung=Rung.INDENTATION, key=strip_both_ends),
    Step(rung=Rung.INDENTATION, key=strip_both_ends, skips_blank=True),
    Step(rung=Rung.PUNCTUATION, key=normalize_punctuation),
    Step(rung=Rung.WHITE_SPACE, key=normalize_tokens),
    Step(rung=Rung.WHITE_SPACE, key=normalize_tokens, skips_blank=True),
)
"""From strict to lenient; elision and anchors, which do not compare single lines, come after these."""


def first_step(rung: Rung) -> Step:
    """Return the strictest comparison of a rung."""
    return next(step for step in STEPS if step.rung is rung)


def find_sites(
    source: Source, wanted: Sequence[str], step: Step, first: int = 0, end: int | None = None
) -> list[Site]:
    """Find all sites, within lines `first` to `end`, of the wanted lines under `step`.

    Blank lines around the wanted ones are ignored, except by the exact step.
    """
    if step.rung is Rung.EXACT:
        head, tail = 0, len(wanted)
    else:
        head, tail = _trim_blank_ends(wanted)
    indices = [i for i in range(head, tail) if not (step.skips_blank and not wanted[i].strip())]
    keys = [step.key(wanted[i]) for i in indices]
    if not keys or not any(keys):
        return []
    view = source.view(step)
    limit = len(source.lines) if end is None else end
    found = []
    for position in view.find_runs(keys):
        rows = view.rows(position, len(keys))
        if rows[0] >= first and rows[-1] < limit:
            pairs = list(zip(indices, rows, strict=True))
            found.append(
                build_site(source, wanted, pairs) if step.rung is not Rung.EXACT else _create_site(pairs)
            )
    return found


def is_distinctive(text: str) -> bool:
    """Return whether a text is distinctive enough for a lenient search: not only brackets and common words."""
    return sum(1 for line in text.split("\n") if _WORD.search(line)) > 1 or has_distinctive_word(text)


def has_distinctive_word(text: str) -> bool:
    """Return whether a text has more than brackets and common words."""
    return any(word not in _EVERYWHERE for word in _WORD.findall(text))


def build_site(source: Source, wanted: Sequence[str], pairs: Sequence[tuple[int, int]]) -> Site:
    """Build the site of matched lines, with the blank lines between and around them that match, too."""
    lines = source.lines
    complete = list(pairs)
    for (one, above), (other, below) in pairwise(pairs):
        given, there = range(one + 1, other), range(above + 1, below)
        if any(wanted[i].strip() for i in given):
            complete += _pair_edge_blanks(lines, wanted, given, there)
            continue
        if not any(lines[row].strip() for row in there):
            complete += zip(given, there, strict=False)
        else:
            complete += _pair_adjacent_blanks(lines, given, there)
    for (number, row), by in ((pairs[0], -1), (pairs[-1], 1)):
        number, row = number + by, row + by
        while 0 <= number < len(wanted) and 0 <= row < len(lines):
            if wanted[number].strip() or lines[row].strip():
                break
            complete.append((number, row))
            number, row = number + by, row + by
    return _create_site(sorted(complete))


def _pair_edge_blanks(
    lines: Sequence[str], wanted: Sequence[str], given: range, there: range
) -> Iterator[tuple[int, int]]:
    """Pair blank lines directly below and above matched ones, where both sides have as many: lines that
    differ lie between.
    """
    for mine, theirs in ((given, there), (given[::-1], there[::-1])):
        count = _count_leading_blank([wanted[i] for i in mine])
        if count == _count_leading_blank([lines[row] for row in theirs]) < len(theirs):
            yield from zip(mine[:count], theirs[:count], strict=True)


def _count_leading_blank(lines: Sequence[str]) -> int:
    return next((i for i, line in enumerate(lines) if line.strip()), len(lines))


def _pair_adjacent_blanks(lines: Sequence[str], given: range, there: range) -> Iterator[tuple[int, int]]:
    """Pair blank lines adjacent to the matched lines, with other lines between them; none if they could be on
    either side.
    """
    size = min(len(given), len(there))
    after = next((i for i in range(size) if lines[there[i]].strip()), size)
    before = next((i for i in range(size) if lines[there[-1 - i]].strip()), size)
    if after + before <= len(given):
        yield from zip(given[:after], there[:after], strict=True)
        yield from zip(given[len(given) - before :], there[len(there) - before :], strict=True)


def _create_site(pairs: Sequence[tuple[int, int]]) -> Site:
    return Site(first=pairs[0][1], end=pairs[-1][1] + 1, pairs=tuple(pairs))


class View:
    """A file's lines as one step compares them, and the rows of each key."""

    def __init__(self, lines: Sequence[str], step: Step, whole: View | None) -> None:
        self.keys: list[str]
        self._numbers: list[int] | None = None
        if whole is not None:
            self._numbers = [i for i, key in enumerate(whole.keys) if key]
            self.keys = [whole.keys[i] for i in self._numbers]
        else:
            self.keys = list(lines) if step.key is keep_as_is else [step.key(line) for line in lines]

    def rows(self, position: int, count: int) -> Sequence[int]:
        """Return the file's line numbers of a run of `count` keys."""
        if self._numbers is None:
            return range(position, position + count)
        return self._numbers[position : position + count]

    def find_runs(self, keys: Sequence[str]) -> Iterator[int]:
        """Yield the positions at which these keys follow one another. The longest of them is searched first."""
        size = len(keys)
        wanted = list(keys)
        back = max(range(size), key=lambda i: len(keys[i]))
        for place in self._find_key(keys[back]):
            start = place - back
            if start >= 0 and self.keys[start : start + size] == wanted:
                yield start

    def _find_key(self, key: str) -> Iterator[int]:
        """Yield the rows of a key: by search, which is much faster than an index that is used once."""
        place = -1
        while True:
            try:
                place = self.keys.index(key, place + 1)
            except ValueError:  # no further one
                return
            yield place

    @cached_property
    def places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for number, key in enumerate(self.keys):
            places.setdefault(key, []).append(number)
        return places


_WORD = compile_lazily(r"\w+")
_EVERYWHERE = frozenset(
    [
        "begin",
        "break",
        "continue",
        "do",
        "done",
        "else",
        "end",
        "endif",
        "esac",
        "fi",
        "finally",
        "pass",
        "return",
        "then",
        "try",
    ]
)

_NEEDLESS = compile_lazily(r" (?!\w)|(?<!\w) ")


def _trim_blank_ends(lines: Sequence[str]) -> tuple[int, int]:
    """Return the range of lines without blank ones at both ends."""
    head, tail = 0, len(lines)
    while head < tail and not lines[head].strip():
        head += 1
    while tail > head and not lines[tail - 1].strip():
        tail -= 1
    return head, tail
