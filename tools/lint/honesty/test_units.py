"""Tests of a file as comparable units, for every language: their checks, and what may keep them from counting."""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """An assertion of a test, with the strength of its comparison.

    facts: its content apart from names: literals, comparisons and assertion methods
    strength: 3 equality with a value, 2 an order, a member or a near value, 1 truth or inequality, 0 always holds
    raises: names of exceptions that it expects; wrappers: calls around the compared values
    tolerance: largest accepted difference, None for an exact comparison
    """

    line: int
    text: str
    strength: int
    facts: Counter[str] = field(default_factory=Counter)
    raises: tuple[str, ...] = ()
    has_match: bool = False
    tolerance: float | None = None
    wrappers: Counter[str] = field(default_factory=Counter)
    shape: str = ""


@dataclass(slots=True, kw_only=True)
class TestUnit:
    """A test, or a helper of tests (a fixture, a function with checks).

    name: qualified; body: its text without decorators and name, for finding it again; text: of the whole
    checks: in their order, of those that can be reached; unreached: number of checks that can not
    swallowed: checks whose failure is caught; guarded: checks below a condition
    skips: text of each skip, and whether it has a condition; patched: last names of what is replaced
    calls: names called within checks; retries, sleeps: their texts; timeouts: in seconds or ms
    """

    __test__ = False

    name: str
    line: int
    text: str
    body: str
    is_test: bool = True
    checks: list[Check] = field(default_factory=list)
    unreached: int = 0
    swallowed: int = 0
    guarded: int = 0
    exits: list[str] = field(default_factory=list)
    skips: list[tuple[str, bool]] = field(default_factory=list)
    patched: Counter[str] = field(default_factory=Counter)
    rebound: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    retries: list[str] = field(default_factory=list)
    sleeps: list[str] = field(default_factory=list)
    timeouts: list[float] = field(default_factory=list)

    @property
    def base_name(self) -> str:
        """The name without classes or suites around it."""
        return self.name.rpartition(".")[2]

    @property
    def title(self) -> str:
        """The name for a person."""
        return self.base_name.replace("·", ".").partition("#")[0]

    @property
    def words(self) -> set[str]:
        """Identifiers of its text."""
        return set(_WORD.findall(self.text))

    @property
    def literals(self) -> set[str]:
        """Strings and numbers of its text, without those that occur everywhere."""
        return {*_LITERAL.findall(self.text)} - {"0", "1", "2", '""', "''", "``"}

    def list_new_calls(self, old: TestUnit) -> set[str]:
        """Return the names that it calls, and that another version of it did not."""
        return {*_CALL.findall(self.text)} - {*_CALL.findall(old.text)}


@dataclass(slots=True, kw_only=True)
class TestFile:
    """The units of a test file by name, and settings that hold for all of them.

    skips: of the whole file; only: tests that keep all others from running
    twice: names that are defined twice in one scope, of which only the last runs; shadowed: imported names defined anew
    """

    __test__ = False

    units: dict[str, TestUnit] = field(default_factory=dict)
    skips: list[tuple[str, bool]] = field(default_factory=list)
    only: list[tuple[int, str]] = field(default_factory=list)
    twice: list[tuple[int, str]] = field(default_factory=list)
    shadowed: list[tuple[int, str]] = field(default_factory=list)


_WORD = compile_lazily(r"[A-Za-z_]\w{2,}")
_CALL = compile_lazily(r"\b(\w+)\(")
_LITERAL = compile_lazily(r'"[^"\n]*"|\'[^\'\n]*\'|\b\d[\w.]*')
