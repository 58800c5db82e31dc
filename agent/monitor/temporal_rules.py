"""Rules about the order of events, in past-time linear temporal logic, checked as the events arrive.

A rule states: whenever `when` holds, `must` has to hold, too; both concern the events until now. Each formula
is evaluated with a few bits of state that are updated with every event (Havelund and Roşu, "Synthesizing
Monitors for Safety Properties", TACAS 2002), so the cost of an event does not depend on the length of the
session.

A rule sees only the events named in it. One with a key (a path, say) is evaluated separately for each value
of it; an event without the key counts for all of them (parametric slices: Chen and Roşu, TACAS 2009).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Literal

from sandbox.lazy_dataclass import dataclass

Values = list[bool]
"""Values of a formula and its parts, by index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedEvent:
    """An event as seen by rules. keys: by kind of key, the values that it concerns"""

    name: str
    keys: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Formula:
    """A statement about a sequence of events, true or false at each event.

    kind: "event": it has one of these names; "not", "and", "or": of the parts; "always": the part has held at every
        event until now; "since": the second part held at some event, and the first from the next one until now
    """

    kind: Literal["event", "not", "and", "or", "since", "always"]
    parts: tuple[Formula, ...] = ()
    names: frozenset[str] = frozenset()

    def __and__(self, other: Formula) -> Formula:
        return Formula("and", (self, other))

    def __or__(self, other: Formula) -> Formula:
        return Formula("or", (self, other))

    def __invert__(self) -> Formula:
        return Formula("not", (self,))

    def evaluate(self, name: str, parts: Sequence[bool], before: bool | None) -> bool:
        """Return the value at an event. parts: values of the parts at this event; before: own value at the
        previous event, None at the first"""
        match self.kind:
            case "event":
                return name in self.names
            case "not":
                return not parts[0]
            case "and":
                return all(parts)
            case "or":
                return any(parts)
            case "since":
                return parts[1] or (parts[0] and bool(before))
            case "always":
                return parts[0] and before is not False


def event(*names: str) -> Formula:
    """Return a formula that holds at events with one of these names."""
    return Formula("event", names=frozenset(names))


def since(condition: Formula, anchor: Formula) -> Formula:
    """Return a formula that holds if `anchor` held at some event, and `condition` from the next one until now."""
    return Formula("since", (condition, anchor))


def always(part: Formula) -> Formula:
    """Return a formula that holds if the part has held at every event until now."""
    return Formula("always", (part,))


def once(part: Formula) -> Formula:
    """Return a formula that holds if the part held at some event until now."""
    return since(~event(), part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Whenever `when` holds, `must` holds, too.

    message: advice after a violation; {key} is replaced by the value of the key
    key: the kind of key whose values are evaluated separately; "" to evaluate all events together
    """

    name: str
    when: Formula
    must: Formula
    message: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """An event that violates a rule. about: the value of the key"""

    rule: Rule
    about: str = ""

    @property
    def message(self) -> str:
        return self.rule.message.format(key=self.about)


class RuleMonitor:
    """Monitor of one rule. Its state is a few bits for each value of the key."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._order: list[tuple[Formula, tuple[int, ...]]] = []
        self._when = self._add_formula(rule.when)
        self._must = self._add_formula(rule.must)
        self._states: dict[str, Values] = {}
        self._general: Values = []  # state for values that have not occurred in an event
        self._names = frozenset().union(*(each.names for each, _ in self._order))

    @property
    def state(self) -> tuple[bool, ...]:
        """State of a rule without a key: () before the first event."""
        return tuple(self._general)

    @state.setter
    def state(self, bits: tuple[bool, ...]) -> None:
        self._general = list(bits)

    def find_violations(self, happening: ObservedEvent) -> list[Violation]:
        """Return the violations that the event would cause now; the state does not change."""
        if happening.name not in self._names:
            return []
        return [
            Violation(rule=self.rule, about=about)
            for about in self._list_keys(happening)
            if self._is_violated(self._advance(happening.name, self._states.get(about, self._general)))
        ]

    def observe(self, happening: ObservedEvent) -> None:
        """Record that the event happened."""
        if happening.name not in self._names:
            return
        if self.rule.key in happening.keys:
            for about in happening.keys[self.rule.key]:
                self._states[about] = self._advance(happening.name, self._states.get(about, self._general))
            return
        for about, state in self._states.items():
            self._states[about] = self._advance(happening.name, state)
        self._general = self._advance(happening.name, self._general)

    def _list_keys(self, happening: ObservedEvent) -> Iterable[str]:
        if not self.rule.key:
            return ("",)
        return sorted(happening.keys.get(self.rule.key, ()))

    def _is_violated(self, values: Values) -> bool:
        return values[self._when] and not values[self._must]

    def _advance(self, name: str, before: Values) -> Values:
        values: Values = []
        for place, (formula, parts) in enumerate(self._order):
            last = before[place] if before else None
            values.append(formula.evaluate(name, [values[part] for part in parts], last))
        return values

    def _add_formula(self, formula: Formula) -> int:
        """Append a formula after its parts in the order of evaluation; return its index."""
        parts = tuple(self._add_formula(part) for part in formula.parts)
        self._order.append((formula, parts))
        return len(self._order) - 1
