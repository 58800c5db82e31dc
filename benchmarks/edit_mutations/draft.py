"""One hunk of a file's history: what it means, and how it is written down."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

from tools.edit.edit_model import Line, Op

PUNCTUATION = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2013": "-",
        "\u2014": "-",
        "\u2212": "-",
        "\u00a0": " ",
        "\u2026": "...",
    }
)
"""Characters that models and word processors put for others, and those others."""


def squeezed(line: str) -> str:
    """A line without white space, with plain punctuation: what is left of it under every way of writing it."""
    return "".join((line if line.isascii() else line.translate(PUNCTUATION)).split())


class Text:
    """The lines of a file, and where each of them stands. The same object serves all perturbations of a hunk."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)

    @cached_property
    def squeezed(self) -> tuple[str, ...]:
        return tuple(squeezed(line) for line in self.lines)

    @cached_property
    def where(self) -> Mapping[str, list[int]]:
        """Squeezed line to the indices at which it stands."""
        found: dict[str, list[int]] = defaultdict(list)
        for index, line in enumerate(self.squeezed):
            found[line].append(index)
        return found

    @cached_property
    def filled(self) -> tuple[int, ...]:
        """Indices of the lines that are not blank."""
        return tuple(index for index, line in enumerate(self.squeezed) if line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a hunk comes from, and how the file's lines are ended."""

    repository: str
    commit: str
    path: str
    newline: str
    final_newline: bool
    bom: bytes

    def content(self, lines: Sequence[str]) -> bytes:
        """A file of these lines."""
        text = self.newline.join(lines)
        if lines and self.final_newline:
            text += self.newline
        return self.bom + text.encode()


Dress = Callable[[Sequence[str], int], str]
"""How lines are written as one string; the number is that of the first line, from 1."""


def plain(lines: Sequence[str], first: int) -> str:
    """Each line with its ending."""
    return "".join(line + "\n" for line in lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A hunk as it is meant and as it is written.

    start: index of the line at which the old lines of `truth` begin
    truth: the hunk as it applies
    given: the hunk as the model writes it
    dress: how the old and new lines become strings
    meant: False if the file has no place for what is given
    torn: it lies between two places
    elided: `given` has a line `...` that stands for others
    note: what was done, in a few words
    """

    source: Source
    text: Text
    start: int
    truth: tuple[Line, ...]
    given: tuple[Line, ...]
    dress: Dress = plain
    meant: bool = True
    torn: bool = False
    elided: bool = False
    note: str = ""

    @property
    def slips(self) -> int:
        """How many things were done to it."""
        return self.note.count("; ") + bool(self.note)

    @property
    def stop(self) -> int:
        """Index after the last old line."""
        return self.start + len(old_lines(self.truth))

    def applied(self) -> tuple[str, ...]:
        """The file's lines as they should be afterwards."""
        lines = self.text.lines
        return (*lines[: self.start], *new_lines(self.truth), *lines[self.stop :])

    def written(self, given: Sequence[Line], note: str = "") -> Draft:
        """The same hunk, written otherwise."""
        return replace(self, given=tuple(given), note=joined(self.note, note))

    def on(self, text: Text, start: int, note: str = "") -> Draft:
        """The same hunk in another file."""
        return replace(self, text=text, start=start, note=joined(self.note, note))

    def dressed(self, dress: Dress, note: str = "") -> Draft:
        """The same lines, with something around them."""
        return replace(self, dress=dress, note=joined(self.note, note))

    def old(self) -> str:
        return self.dress(old_lines(self.given), self.start + 1)

    def new(self) -> str:
        return self.dress(new_lines(self.given), self.start + 1)


def old_lines(ops: Sequence[Line]) -> tuple[str, ...]:
    return tuple(line.text for line in ops if line.op != "+")


def new_lines(ops: Sequence[Line]) -> tuple[str, ...]:
    return tuple(line.text for line in ops if line.op != "-")


def texts(ops: Sequence[Line], op: Op) -> tuple[str, ...]:
    return tuple(line.text for line in ops if line.op == op)


def joined(first: str, second: str) -> str:
    return f"{first}; {second}" if first and second else first or second


def widened(draft: Draft, before: int, after: int) -> Draft:
    """With up to so many more lines of context, if the hunk is still written as it is meant."""
    lines = draft.text.lines
    head = tuple(Line(" ", text) for text in lines[max(0, draft.start - before) : draft.start])
    tail = tuple(Line(" ", text) for text in lines[draft.stop : draft.stop + after])
    ops = (*head, *draft.truth, *tail)
    return replace(draft, start=draft.start - len(head), truth=ops, given=ops)


def inserted(rng: Random, draft: Draft, made: Callable[[str], str], note: str) -> Draft | None:
    """With a context line too many between two that are not blank; None where there are none.

    made: gives the line from the one that it comes before
    """
    ops = draft.given
    gaps = [
        index
        for index in range(1, len(ops))
        if ops[index].op == ops[index - 1].op == " "
        and ops[index].text.strip()
        and ops[index - 1].text.strip()
    ]
    if not gaps:
        return None
    gap = rng.choice(gaps)
    return draft.written([*ops[:gap], Line(" ", made(ops[gap].text)), *ops[gap:]], note)


def as_diff(draft: Draft, header: str) -> str:
    """A unified diff."""
    body = "".join(f"{line.op}{line.text}\n" for line in draft.given)
    return f"--- a/{draft.source.path}\n+++ b/{draft.source.path}\n{header}\n{body}"


def as_patch(draft: Draft, head: str) -> str:
    """The patch format that begins with `*** Begin Patch`."""
    body = "".join(f"{line.op}{line.text}\n" for line in draft.given)
    mark = f"@@ {head}" if head else "@@"
    return f"*** Begin Patch\n*** Update File: {draft.source.path}\n{mark}\n{body}*** End Patch\n"
