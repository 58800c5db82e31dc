"""Rules that cannot be kept together: one required event is impossible, at once or for ever after.

Order rules are finite automata. Together with rules that forbid an event altogether they are explored from the first
event on: an action that a rule restricts must stay reachable, as it is under each of the rules alone. The states are
few bits for each rule; from `MOST_STATES` on the search ends, and the rules count as free of contradiction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from agent.rules.event_pattern import EventPattern, covers, matches_command
from agent.rules.order_rules import OrderMonitor, ParsedOrder, parse_order
from agent.rules.rule_kinds import (
    CommandsRule,
    FreezeRule,
    OrderRule,
    ProtectRule,
    TestsRule,
    UserRule,
    format_rule,
    get_level,
)
from sandbox.lazy_dataclass import dataclass

MOST_STATES = 256
"""States of several rules together that are explored: 8 rules about different events have 256, in 20 ms."""

State = tuple[tuple[bool, ...], ...]


def find_contradiction(rules: Sequence[UserRule], tools: Collection[str]) -> str:
    """Return which rules contradict each other and why, "" if none do. Those that remind or ask leave a way."""
    strict = [rule for rule in rules if get_level(rule) == "refuse"]
    found = _find_forbidden_tests(strict) or _find_frozen_need(strict, tools)
    if found:
        return found
    orders = {rule.name: parse_order(rule, tools) for rule in strict if isinstance(rule, OrderRule)}
    if not orders:
        return ""
    closed = [rule for rule in strict if isinstance(rule, ProtectRule | CommandsRule)]
    checked: set[EventPattern] = set()
    for order in orders.values():
        for pattern in order.restricted:
            if blocked := _find_blocked(pattern, order, [*orders.values(), *closed], pattern in checked):
                return blocked
            checked.add(pattern)
    return ""


def _find_blocked(
    pattern: EventPattern, first: ParsedOrder, rules: Sequence[ParsedOrder | UserRule], is_possible: bool
) -> str:
    """Return the smallest set of rules, the given one among them, that makes an event impossible, "" if none does.

    is_possible: under all rules together the event can happen, so no subset keeps it from that
    """
    alone = _explore(pattern, [first])
    if alone.is_never_possible:
        return f"{_name_rule(first)}: {pattern} can never happen"
    others = [each for each in rules if each is not first and not _closes(each, pattern)]
    for other in others:
        together = _explore(pattern, [first, other])
        if together.is_never_possible:
            return f"{_name_all([first, other])}: together, {pattern} can never happen"
        if together.is_lost and not alone.is_lost and not _explore(pattern, [other]).is_lost:
            return f"{_name_all([first, other])}: together, {pattern} can become impossible for ever"
    if is_possible or not _explore(pattern, [first, *others]).is_never_possible:
        return ""
    needed = list(others)
    for each in others:
        fewer = [rule for rule in needed if rule is not each]
        if _explore(pattern, [first, *fewer]).is_never_possible:
            needed = fewer
    return f"{_name_all([first, *needed])}: together, {pattern} can never happen"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reach:
    """is_never_possible: the event is allowed in no reachable state; is_lost: in none that follows some such state"""

    is_never_possible: bool
    is_lost: bool


def _explore(pattern: EventPattern, rules: Sequence[ParsedOrder | UserRule]) -> _Reach:
    """Explore the states of some rules."""
    orders = [each for each in rules if isinstance(each, ParsedOrder)]
    closed = [each for each in rules if not isinstance(each, ParsedOrder)]
    automata = [_build_automaton(each) for each in orders]
    patterns = [pattern, *(each for order in orders for each in order.patterns)]
    letters = _list_letters(patterns, orders, closed)
    target = _build_letter(pattern, orders)
    follows: dict[State, set[State]] = {}
    allowed: set[State] = set()
    pending: list[State] = [tuple(() for _ in automata)]
    while pending:
        state = pending.pop()
        if state in follows:
            continue
        if len(follows) >= MOST_STATES:
            return _Reach(is_never_possible=False, is_lost=False)
        if _advance(automata, state, target) is not None:
            allowed.add(state)
        after = (_advance(automata, state, letter) for letter in letters)
        follows[state] = {each for each in after if each is not None}
        pending += follows[state]
    return _Reach(is_never_possible=not allowed, is_lost=_has_trap(follows, allowed))


class _Automaton:
    """One order rule as a table of transitions, filled as they are needed."""

    def __init__(self, order: ParsedOrder) -> None:
        self._monitor = OrderMonitor(order)
        self._known: dict[tuple[tuple[bool, ...], str], tuple[bool, ...] | None] = {}

    def advance(self, bits: tuple[bool, ...], part: str) -> tuple[bool, ...] | None:
        """Return the state after an event, None if the rule forbids it."""
        if (bits, part) not in self._known:
            self._monitor.state = bits
            is_broken = self._monitor.is_broken_by(part)
            self._monitor.observe(part)
            self._known[bits, part] = None if is_broken else self._monitor.state
        return self._known[bits, part]


@lru_cache(maxsize=256)
def _build_automaton(order: ParsedOrder) -> _Automaton:
    return _Automaton(order)


def _advance(automata: Sequence[_Automaton], state: State, letter: Sequence[str]) -> State | None:
    """Return the state of all rules after an event, None if one of them forbids it."""
    after = []
    for automaton, bits, part in zip(automata, state, letter, strict=True):
        if (found := automaton.advance(bits, part)) is None:
            return None
        after.append(found)
    return tuple(after)


def _has_trap(follows: dict[State, set[State]], allowed: set[State]) -> bool:
    """Whether some state leads to no allowed one any more."""
    before: dict[State, set[State]] = {}
    for state, after in follows.items():
        for each in after:
            before.setdefault(each, set()).add(state)
    leads, pending = set(allowed), list(allowed)
    while pending:
        for each in before.get(pending.pop(), ()):
            if each not in leads:
                leads.add(each)
                pending.append(each)
    return len(leads) < len(follows)


def _list_letters(
    patterns: Sequence[EventPattern], orders: Sequence[ParsedOrder], closed: Sequence[UserRule]
) -> list[tuple[str, ...]]:
    """Return what an action can be for each rule at once: one action for each event that is not forbidden."""
    possible = [each for each in patterns if not any(_closes(rule, each) for rule in closed)]
    return list(dict.fromkeys(_build_letter(each, orders) for each in possible))


def _build_letter(pattern: EventPattern, orders: Sequence[ParsedOrder]) -> tuple[str, ...]:
    def find_parts(order: ParsedOrder) -> str:
        parts = (("x", order.restricted), ("y", order.decisive), ("z", order.reset))
        return "".join(part for part, events in parts if any(pattern.implies(each) for each in events))

    return tuple(map(find_parts, orders))


def _closes(rule: UserRule | ParsedOrder, pattern: EventPattern) -> bool:
    """Whether a rule forbids an event altogether."""
    match rule:
        case ProtectRule():
            kinds = ("edit", "create", "edit-test", *(("read",) if rule.access == "read" else ()))
            return (
                bool(pattern.pattern) and pattern.name in kinds and _is_covered(pattern, "edit", rule.paths)
            )
        case CommandsRule():
            return (
                pattern.name == "shell"
                and bool(pattern.pattern)
                and _is_covered(pattern, "shell", rule.commands)
            )
    return False


def _is_covered(pattern: EventPattern, name: str, patterns: Sequence[str]) -> bool:
    return any(covers(EventPattern(name=name, pattern=each), pattern.pattern) for each in patterns)


def _find_forbidden_tests(rules: Sequence[UserRule]) -> str:
    """Return which rule requires a command that another one forbids."""
    forbidding = [rule for rule in rules if isinstance(rule, CommandsRule)]
    for rule in rules:
        if not isinstance(rule, TestsRule) or not rule.command:
            continue
        spellings = _list_spellings(rule.command)
        for other in forbidding:
            if any(matches_command(each, spellings) for each in other.commands):
                return f"{_name_all([rule, other])}: the command that has to pass may not be run"
    return ""


def _list_spellings(command: str) -> list[str]:
    from pathlib import Path

    from sandbox.policy.shell import judge_command_line

    segments = judge_command_line(command, root=Path("/")).segments
    return [spelling for segment in segments for spelling in segment.forms]


def _find_frozen_need(rules: Sequence[UserRule], tools: Collection[str]) -> str:
    """Return which rule wants files changed after the tests that another one freezes from then on."""
    frozen = [rule for rule in rules if isinstance(rule, FreezeRule)]
    for rule in rules if frozen else ():
        if not isinstance(rule, OrderRule):
            continue
        order = parse_order(rule, tools)
        after_tests = any(each.name == "tests-passed" for each in order.reset)
        needs = [each for each in order.decisive if each.name in ("edit", "create", "edit-test")]
        if order.forbids or not after_tests or len(needs) < len(order.decisive):
            continue
        for other in frozen:
            if not other.paths or all(
                each.pattern and _is_covered(each, "edit", other.paths) for each in needs
            ):
                why = f"{' or '.join(map(str, needs))} is needed again after the tests, and frozen then"
                return f"{_name_all([rule, other])}: {why}"
    return ""


def _name_rule(rule: ParsedOrder | UserRule) -> str:
    known = rule.rule if isinstance(rule, ParsedOrder) else rule
    return f"{known.name!r} ({format_rule(known)})"


def _name_all(rules: Sequence[ParsedOrder | UserRule]) -> str:
    return " and ".join(_name_rule(each) for each in rules)
