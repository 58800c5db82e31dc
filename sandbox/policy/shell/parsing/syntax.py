"""Syntax tree of bash source: words and their parts, assignments, redirections, commands."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from sandbox.lazy_dataclass import dataclass

PartKind = Literal["text", "quoted", "value", "split", "list", "number"]
"""Part of a word, in the order in which bash processes them:

text: literal, where braces, globs and a leading tilde are still active
quoted: literal and inert
value: something unknown in double quotes: exactly one piece, maybe empty
split: something unknown without quotes: may become any number of words
list: "$@" and similar: any number of words, none of them split
number: something unknown that is digits: an exit status, a length, a result of arithmetic
"""


class UnsupportedSyntax(Exception):
    """The source has unsupported bash syntax. The parts read before remain valid."""


@dataclass(slots=True, kw_only=True)
class Word:
    """One word of the source. Built piece by piece while it is read, not changed afterwards."""

    start: int
    end: int = 0
    parts: list[tuple[PartKind, str]] = field(default_factory=list)

    def to_literal(self) -> str | None:
        """Return its text, if it has no expansions; None otherwise."""
        if any(kind not in ("text", "quoted") for kind, _ in self.parts):
            return None
        return "".join(text for _, text in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """`NAME=value`. `value` is None for an array."""

    name: str
    value: Word | None
    start: int
    end: int


@dataclass(slots=True, kw_only=True)
class Redirect:
    """`2>file`, `<<E`, `<<<word` …

    target: None for a here-document
    body: of a here-document, None until its lines are read
    variable: of `{variable}>file`
    """

    operator: str
    start: int
    end: int
    target: Word | None = None
    body: Word | None = None
    variable: str = ""


@dataclass(slots=True, kw_only=True)
class SimpleCommand:
    """A command with its words, or the redirections or assignments in place of one.

    words: empty for a bare assignment, and for the redirections of a compound command
    repeated: is in a loop or a function: later source may run before it
    """

    start: int
    end: int = 0
    words: list[Word] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    repeated: bool = False


@dataclass(slots=True, kw_only=True)
class ParsedSource:
    """All commands of one source, nested sources included, in the order of the text.

    source: the UTF-8 bytes of the command, one character each: positions are the same for every parser
    functions: names that the source defines, with the position after which each is surely defined; -1:
    nowhere
    bound: variables that get an unknown value (loops, `read`, `${x:=y}`)
    loops: variables of `for`, with the words that they run through
    calculated: variables that arithmetic evaluates
    assigned: variables that arithmetic sets
    problems: descriptions of the parts that were not understood
    """

    source: str
    commands: list[SimpleCommand] = field(default_factory=list)
    functions: dict[str, int] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)
    loops: dict[str, list[Word]] = field(default_factory=dict)
    calculated: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def parse_word_set(text: str) -> frozenset[str]:
    """Return words separated by blanks as a set: for tables."""
    return frozenset(text.split())


def encode_source(command: str) -> str:
    """Encode a command to UTF-8, each byte as one character. Raises UnicodeEncodeError for a lone surrogate."""
    return command.encode().decode("latin-1")


def decode_source(source: str) -> str:
    """Revert `encode_source`; bytes that are not UTF-8 (`$'\\xff'`) become lone surrogates, as usual in Python."""
    if source.isascii():
        return source
    return source.encode("latin-1").decode("utf-8", "surrogateescape")
