"""Rules about the order of events, in past-time linear temporal logic, checked as the events come.

A rule says: whenever `when` holds, `must` has to hold, too; both speak of the events until now. Each formula is
followed by a few bits of state that are brought up to date with every event (Havelund and Roşu, "Synthesizing
Monitors for Safety Properties", TACAS 2002), so an event costs the same however long the session is.

A rule sees only the events that it speaks of. One with a key (a path, say) is followed for each value of it apart;
an event without the key counts for all of them (parametric slices: Chen and Roşu, TACAS 2009).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

Values = list[bool]
"""Of a formula and its parts, each at its own place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedEvent:
    """An event as rules see it. keys: by kind of key, the values that it is about"""

    name: str
    keys: Mapping[str, frozenset[str]] = field(default_factory=dict)


class Formula(ABC):
    """A statement about a sequence of events, true or false at each of them."""

    def __and__(self, other: Formula) -> Formula:
        return Combination(self, other, all)

    def __or__(self, other: Formula) -> Formula:
        return Combination(self, other, any)

    def __invert__(self) -> Formula:
        return Not(self)

    @property
    @abstractmethod
    def parts(self) -> tuple[Formula, ...]:
        """What it is made of."""

    @abstractmethod
    def evaluate(self, name: str, parts: list[bool], before: bool | None) -> bool:
        """Its value at an event. parts: theirs at this event; before: its own at the last one, None at the first"""


@dataclass(frozen=True, slots=True)
class Event(Formula):
    """The event is one of these."""

    names: frozenset[str]

    @property
    def parts(self) -> tuple[Formula, ...]:
        return ()

    def evaluate(self, name: str, parts: list[bool], before: bool | None) -> bool:
        return name in self.names


@dataclass(frozen=True, slots=True)
class Not(Formula):
    """The part does not hold."""

    part: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.part,)

    def evaluate(self, name: str, parts: list[bool], before: bool | None) -> bool:
        return not parts[0]


@dataclass(frozen=True, slots=True)
class Combination(Formula):
    """One of two parts holds, or both do. how: `any` or `all`"""

    one: Formula
    other: Formula
    how: Callable[[Iterable[object]], bool]

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.one, self.other)

    def evaluate(self, name: str, parts: list[bool], before: bool | None) -> bool:
        return self.how(parts)


@dataclass(frozen=True, slots=True)
class Since(Formula):
    """`then` held at some event, and from the one after it until now `ever` has."""

    ever: Formula
    then: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.ever, self.then)

    def evaluate(self, name: str, parts: list[bool], before: bool | None) -> bool:
        ever, then = parts
        return then or (ever and bool(before))


@dataclass(frozen=True, slots=True)
class Always(Formula):
    """The part has held at every event until now."""

    part: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.part,)

    def evaluate(self, name: str, parts: list[bool], before: bool | None) -> bool:
        return parts[0] and before is not False


def event(*names: str) -> Formula:
    """The event is one of these."""
    return Event(frozenset(names))


def once(part: Formula) -> Formula:
    """The part held at some event until now."""
    return Since(~event(), part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Whenever `when` holds, `must` holds, too.

    message: what to do instead, for who breaks it; {key} stands for the value of the key
    key: the kind of key whose values are followed apart; "" to follow all events together
    """

    name: str
    when: Formula
    must: Formula
    message: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """An event that breaks a rule. about: the value of the key"""

    rule: Rule
    about: str = ""

    @property
    def message(self) -> str:
        return self.rule.message.format(key=self.about)


class Monitor:
    """Follows one rule. Its state is a few bits for each value of the key."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._order: list[tuple[Formula, tuple[int, ...]]] = []
        self._when = self._add_formula(rule.when)
        self._must = self._add_formula(rule.must)
        self._states: dict[str, Values] = {}
        self._general: Values = []  # as of a value that no event has named yet
        self._names = frozenset().union(*(each.names for each, _ in self._order if isinstance(each, Event)))

    def find_violations(self, happening: ObservedEvent) -> list[Violation]:
        """What the event would break, if it happened now; nothing is noted."""
        if happening.name not in self._names:
            return []
        return [
            Violation(rule=self.rule, about=about)
            for about in self._list_keys(happening)
            if self._is_violated(self._advance(happening.name, self._states.get(about, self._general)))
        ]

    def observe(self, happening: ObservedEvent) -> None:
        """The event has happened."""
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
        """Put a formula behind its parts in the order of evaluation."""
        parts = tuple(self._add_formula(part) for part in formula.parts)
        self._order.append((formula, parts))
        return len(self._order) - 1
