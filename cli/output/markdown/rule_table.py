"""Rules of pygments' lexers by state and by the character with which a token begins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Rule = tuple[Callable[[str, int], "re.Match[str] | None"], Any, Any]
"""(match, token type or callback, next state), as pygments compiles it."""

OFTEN = 50
"""Uses of a state after which its rules are sorted by character: for a short piece of code, that takes too long."""

_ASCII = frozenset(map(chr, range(128)))


class RuleTable:
    """Rules of one lexer class. rules: by state, as pygments compiles them"""

    def __init__(self, rules: Mapping[str, Sequence[Rule]]) -> None:
        self._rules = rules
        self._uses: dict[str, int] = {}
        self._found: dict[str, Mapping[str, Sequence[Rule]]] = {}

    def find_rules(self, state: str) -> Mapping[str, Sequence[Rule]]:
        """Return the rules to try in a state, in order, by the next character."""
        count = self._uses[state] = self._uses.get(state, 0) + 1
        if count == 1:
            self._found[state] = _AnyCharacter(self._rules[state])
        if count == OFTEN:
            self._found[state] = _sort_rules(self._rules[state])
        return self._found[state]


TABLES: dict[type, RuleTable] = {}
"""By lexer class: what was sorted once stays."""


def get_table(kind: type) -> RuleTable:
    """Return the rules of a lexer class, shared by all its lexers."""
    if kind not in TABLES:
        TABLES[kind] = RuleTable(kind._tokens)  # type: ignore[attr-defined]
    return TABLES[kind]


class _AnyCharacter(dict[str, Sequence[Rule]]):
    """The same rules for every character that is not among the keys."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        super().__init__()
        self._rules = rules

    def __missing__(self, character: str) -> Sequence[Rule]:
        return self._rules


def _sort_rules(rules: Sequence[Rule]) -> Mapping[str, Sequence[Rule]]:
    """Return, for each character of ASCII, the rules that can match text that begins with it."""
    begins = [find_first_characters(rule[0].__self__) for rule in rules]  # type: ignore[attr-defined]
    found = _AnyCharacter(rules)
    for character in _ASCII:
        found[character] = [rule for rule, first in zip(rules, begins, strict=True) if character in first]
    return found


def find_first_characters(pattern: re.Pattern[str]) -> frozenset[str]:
    """Return the characters of ASCII with which a match can begin, and maybe more; all if it can be empty."""
    try:
        import re._parser as parser  # type: ignore[import-not-found]

        first, is_empty = _read_items(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    except Exception:  # no public module: without it, every rule is tried
        return _ASCII
    if is_empty:
        return _ASCII
    if pattern.flags & re.IGNORECASE:
        first = {each for character in first for each in (character.lower(), character.upper())}
    return frozenset(first) & _ASCII


def _read_items(items: Iterable[tuple[Any, Any]]) -> tuple[set[str], bool]:
    """Return the first characters of a sequence, and whether it can be empty."""
    found = set[str]()
    for code, value in items:
        first, is_empty = _read_item(str(code), value)
        found |= first
        if not is_empty:
            return found, False
    return found, True


def _read_item(code: str, value: Any) -> tuple[set[str], bool]:
    match code:
        case "LITERAL":
            return {chr(value)}, False
        case "IN":
            return _read_class(value), False
        case "AT" | "ASSERT" | "ASSERT_NOT":  # of no width
            return set(), True
        case "SUBPATTERN":
            first, is_empty = _read_items(value[3])
            return {swap for each in first for swap in (each.lower(), each.upper())} if value[
                1
            ] else first, is_empty
        case "ATOMIC_GROUP":
            return _read_items(value)
        case "BRANCH":
            branches = [_read_items(branch) for branch in value[1]]
            return set().union(*(first for first, _ in branches)), any(is_empty for _, is_empty in branches)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            first, is_empty = _read_items(value[2])
            return first, is_empty or value[0] == 0
        case "GROUPREF" | "GROUPREF_EXISTS":
            return set(_ASCII), True
    return set(_ASCII), False


def _read_class(items: Iterable[tuple[Any, Any]]) -> set[str]:
    """Return the characters of `[…]`."""
    found, negated = set[str](), False
    for code, value in items:
        match str(code):
            case "NEGATE":
                negated = True
            case "LITERAL":
                found.add(chr(value))
            case "RANGE":
                found.update(chr(each) for each in range(value[0], min(value[1], 127) + 1))
            case "CATEGORY":
                found |= _CATEGORIES[str(value)]
    return set(_ASCII) - found if negated else found


_CATEGORIES: Mapping[str, frozenset[str]] = {
    f"CATEGORY_{'NOT_' if negated else ''}{name}": frozenset(
        each for each in _ASCII if bool(re.match(escape, each)) != negated
    )
    for name, escape in (("DIGIT", r"\d"), ("SPACE", r"\s"), ("WORD", r"\w"))
    for negated in (False, True)
}
