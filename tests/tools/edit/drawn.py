"""Random files and true edits of them, for properties: what should come out is known, because it was drawn first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tools.edit.edit_model import Hunk, Line, Replace

UNITS = ("\t", "  ", "    ")
"""Indentation of one level."""

WORDS = ("total", "items", "größe", "name", "数", "count", "value", "price")
SHAPES = (
    "{a} = {b} + {n}",
    "if {a} > {n}:",
    "return {a}",
    "call('{a}', \"{b}\", {n})",
    "{a}.{b}({n})  # {b} {a} {n}",
    "}}",
    "for {a} in {b}:",
    "def {a}_{n}({b}, {a}=-{n}):",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A file's text and an edit of it: lines `first` to `end` (from 0) become `new`, with context around them.

    before, after: lines of context that the edit gives
    """

    text: str
    unit: str
    first: int
    end: int
    new: tuple[str, ...]
    before: int
    after: int

    @property
    def lines(self) -> list[str]:
        return lines_of(self.text)

    @property
    def result(self) -> str:
        """The text that is meant."""
        lines = self.lines
        return joined([*lines[: self.first], *self.new, *lines[self.end :]], self.text)

    @property
    def start(self) -> int:
        """The first line that the edit speaks of."""
        return self.first - self.before

    @property
    def stop(self) -> int:
        """The line behind the last one that the edit speaks of."""
        return self.end + self.after

    @property
    def old(self) -> list[str]:
        return self.lines[self.start : self.stop]

    @property
    def places(self) -> int:
        """How often its old lines stand in the file."""
        lines, size = self.lines, self.stop - self.start
        return sum(lines[i : i + size] == self.old for i in range(len(lines) - size + 1))

    @property
    def diff(self) -> tuple[Line, ...]:
        lines = self.lines
        return (
            *(Line(" ", text) for text in lines[self.start : self.first]),
            *(Line("-", text) for text in lines[self.first : self.end]),
            *(Line("+", text) for text in self.new),
            *(Line(" ", text) for text in lines[self.end : self.stop]),
        )

    def hunk(self) -> Hunk:
        return Hunk(lines=self.diff)

    def block(self) -> Replace:
        return as_block(self.diff)


def as_block(lines: Sequence[Line]) -> Replace:
    """The same as text to find and to put there."""
    old = "".join(f"{text}\n" for op, text in lines if op != "+")
    new = "".join(f"{text}\n" for op, text in lines if op != "-")
    return Replace(old=old, new=new, whole_lines=True)


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def joined(lines: Sequence[str], like: str) -> str:
    """Lines as a text that ends as another one does."""
    return "\n".join(lines) + ("\n" if lines and like.endswith("\n") else "")


STATEMENTS = len(SHAPES) * len(WORDS) ** 2 * 10
"""How many different ones `statement` knows."""


def statement(number: int) -> str:
    """One line of code, without indentation."""
    number, shape = divmod(number, len(SHAPES))
    number, a = divmod(number, len(WORDS))
    number, b = divmod(number, len(WORDS))
    return SHAPES[shape].format(a=WORDS[a], b=WORDS[b], n=number % 10)


@st.composite
def texts(draw: st.DrawFn, unit: str, repeats: bool) -> str:
    """Nested code. repeats: lines may be equal to one another; otherwise all that are not blank differ."""
    depth = 0
    lines: list[str] = []
    # one number a line, which says what it is and how deep: many small draws would take longer than what is tested
    for drawn in draw(st.lists(st.integers(0, STATEMENTS * 16 - 1), min_size=4, max_size=30)):
        number, kind = divmod(drawn, 16)
        if kind == 15:
            lines.append(unit * depth if number % 2 else "")
            continue
        depth = max(0, min(depth + (-1, 0, 0, 1)[kind % 4], 4))
        lines.append(unit * depth + statement(number) + ("" if repeats else f" line_{len(lines)}"))
    return "\n".join(lines) + draw(st.sampled_from(["\n", "\n", "\n", ""]))


@st.composite
def edits(draw: st.DrawFn, repeats: bool = True, least: int = 0) -> Drawn:
    """A file and a true edit of it, whose new lines stand nowhere in the file. least: lines of context"""
    unit = draw(st.sampled_from(UNITS))
    text = draw(texts(unit, repeats).filter(lambda text: text.strip() and len(lines_of(text)) > 2 * least))
    size = len(lines_of(text))
    first = draw(st.integers(least, size - least))
    end = min(first + draw(st.integers(0, 3)), size - least)
    lines = lines_of(text)
    near = [line for line in lines[max(first - least, 0) : end + least] if line.strip()]
    deepest = max(((len(line) - len(line.lstrip())) // len(unit) for line in near), default=0)
    indent = draw(st.integers(0, deepest + 1)) * unit
    count = draw(st.integers(0 if end > first else 1, 3))
    new = tuple(
        f"{indent}fresh_{i} = {statement(draw(st.integers(0, STATEMENTS - 1)))}" for i in range(count)
    )
    before = draw(st.integers(least, min(first, 3)))
    after = draw(st.integers(least, min(size - end, 3)))
    return Drawn(text=text, unit=unit, first=first, end=end, new=new, before=before, after=after)
