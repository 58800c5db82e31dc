"""Order rules, compiled to formulas of temporal logic and monitored as the events arrive.

The formulas are about letters: which of a rule's three parts an action is at once, as "x" (the restricted event),
"y" (the event that matters) and "z" (the one that resets it). A restricted event is judged by what happened strictly
before it, so that an event that is both restricted and a reset does not forbid itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from functools import cache
from itertools import combinations

from agent.monitor.temporal_rules import Formula, ObservedEvent, Rule, RuleMonitor, always, event, once, since
from agent.rules.event_pattern import EventPattern, Happening, parse_events, split_outside_parentheses
from agent.rules.rule_kinds import OrderRule, UserRule, format_order
from sandbox.lazy_dataclass import dataclass

_LETTERS = tuple("".join(each) for size in (1, 2, 3) for each in combinations("xyz", size))

_FORMS = "X needs Y, X needs Y since Z, never X after Y, or never X after Y until Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedOrder:
    """An order rule with its events parsed.

    forbids: `decisive` forbids the restricted events, as opposed to being needed for them
    """

    rule: OrderRule
    forbids: bool
    restricted: tuple[EventPattern, ...]
    decisive: tuple[EventPattern, ...]
    reset: tuple[EventPattern, ...] = ()

    @property
    def patterns(self) -> tuple[EventPattern, ...]:
        """All of its events."""
        return (*self.restricted, *self.decisive, *self.reset)

    def compile_formula(self) -> Rule:
        """Return the rule as formulas over letters."""
        decisive, reset = _hold("y"), _hold("z")
        if self.forbids:
            must: Formula = ~since(~reset, decisive) if self.reset else ~once(decisive)
        elif self.reset:
            must = always(~reset) | since(~reset, decisive)
        else:
            must = once(decisive)
        return Rule(name=self.rule.name, when=event("x"), must=must, message="")

    def find_letter(self, happenings: Sequence[Happening]) -> str:
        """Return the letter of an action, "" if it is none of the rule's events."""
        parts = (("x", self.restricted), ("y", self.decisive), ("z", self.reset))
        return "".join(part for part, patterns in parts if _match_any(patterns, happenings))

    def list_restricted(self, happenings: Sequence[Happening]) -> list[EventPattern]:
        """Return the restricted events that an action is."""
        return [each for each in self.restricted if _match_any((each,), happenings)]

    def strip_lifting_parts(self, letter: str) -> str:
        """Return a letter without what would lift the restriction: the needed event, or the end of a ban."""
        return letter.replace("z" if self.forbids else "y", "")

    def explain(self) -> str:
        """Return what a restricted event lacks, for a model."""
        needed = " or ".join(map(str, self.decisive))
        if self.forbids:
            until = f" until {' or '.join(map(str, self.reset))}" if self.reset else ""
            return f"is not allowed after {needed}{until}"
        since = f" after the last {' or '.join(map(str, self.reset))}" if self.reset else ""
        return f"needs {needed}{since or ' first'}"


@dataclass(slots=True)
class OrderMonitor:
    """Monitor of one order rule."""

    order: ParsedOrder
    _monitor: RuleMonitor = field(init=False)

    def __post_init__(self) -> None:
        self._monitor = RuleMonitor(self.order.compile_formula())

    @property
    def state(self) -> tuple[bool, ...]:
        """The bits that all later answers depend on."""
        return self._monitor.state

    @state.setter
    def state(self, bits: tuple[bool, ...]) -> None:
        self._monitor.state = bits

    def is_broken_by(self, letter: str) -> bool:
        """Whether an action with this letter breaks the rule now."""
        return "x" in letter and bool(self._monitor.find_violations(ObservedEvent(name="x")))

    def observe(self, letter: str) -> None:
        """Record that an action with this letter happened."""
        if letter:
            self._monitor.observe(ObservedEvent(name=letter))


def parse_order(rule: OrderRule, tools: Collection[str]) -> ParsedOrder:
    """Parse the events of an order rule. Raises ValueError that says what is wrong."""
    given = {
        name: value
        for name in ("before", "need", "since", "never", "after", "until", "text")
        if (value := getattr(rule, name).strip())
    }
    if "text" in given:
        if len(given) > 1:
            raise ValueError("give either `text` or its parts")
        return _parse_text(rule, tools)
    if set(given) in ({"before", "need"}, {"before", "need", "since"}):
        return _build_order(rule, False, given["before"], given["need"], given.get("since", ""), tools)
    if set(given) in ({"never", "after"}, {"never", "after", "until"}):
        return _build_order(rule, True, given["never"], given["after"], given.get("until", ""), tools)
    raise ValueError("an order has `before` and `need` (and `since`), or `never` and `after` (and `until`)")


def parse_orders(rules: Iterable[UserRule]) -> list[ParsedOrder]:
    """Return the order rules among some rules that were checked before, parsed."""
    return [parse_order(rule, list_tool_names()) for rule in rules if isinstance(rule, OrderRule)]


@cache
def list_tool_names() -> frozenset[str]:
    """Return the names of Patchwright's tools; the tools are not imported."""
    from tools.builtin_tools import TOOLS, UNTOLD

    return frozenset(name for _, name in (*TOOLS, *UNTOLD))


def _parse_text(rule: OrderRule, tools: Collection[str]) -> ParsedOrder:
    text = format_order(rule)
    parts = split_outside_parentheses(text, ("needs", "since", "never", "after", "until"))
    match parts:
        case [x, "needs", y]:
            return _build_order(rule, False, x, y, "", tools)
        case [x, "needs", y, "since", z]:
            return _build_order(rule, False, x, y, z, tools)
        case ["", "never", x, "after", y]:
            return _build_order(rule, True, x, y, "", tools)
        case ["", "never", x, "after", y, "until", z]:
            return _build_order(rule, True, x, y, z, tools)
    raise ValueError(f"{text!r} is no order: write {_FORMS}")


def _build_order(
    rule: OrderRule, forbids: bool, restricted: str, decisive: str, reset: str, tools: Collection[str]
) -> ParsedOrder:
    return ParsedOrder(
        rule=rule,
        forbids=forbids,
        restricted=parse_events(restricted, tools),
        decisive=parse_events(decisive, tools),
        reset=parse_events(reset, tools) if reset else (),
    )


def _hold(part: str) -> Formula:
    return event(*(letter for letter in _LETTERS if part in letter))


def _match_any(patterns: Sequence[EventPattern], happenings: Sequence[Happening]) -> bool:
    return any(pattern.matches(each) for pattern in patterns for each in happenings)
