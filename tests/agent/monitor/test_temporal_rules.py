"""Formulas of past-time temporal logic, and monitors that follow them."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.monitor.temporal_rules import (
    Formula,
    ObservedEvent,
    Rule,
    RuleMonitor,
    always,
    event,
    once,
    since,
)

LETTERS = "abc"


def holds(formula: Formula, trace: Sequence[str]) -> bool:
    """Whether it holds at the end of a trace, by the definitions alone (no state kept)."""
    last = len(trace) - 1
    match formula:
        case Formula(kind="event", names=names):
            return trace[last] in names
        case Formula(kind="not", parts=(part,)):
            return not holds(part, trace)
        case Formula(kind="and" | "or" as kind, parts=parts):
            return (all if kind == "and" else any)([holds(part, trace) for part in parts])
        case Formula(kind="since", parts=(ever, then)):
            return any(
                holds(then, trace[: k + 1])
                and all(holds(ever, trace[: j + 1]) for j in range(k + 1, last + 1))
                for k in range(last + 1)
            )
        case Formula(kind="always", parts=(part,)):
            return all(holds(part, trace[: k + 1]) for k in range(last + 1))
    raise TypeError(formula)


formulas = st.recursive(
    st.sampled_from([event(letter) for letter in LETTERS]),
    lambda inner: st.one_of(
        inner.map(lambda part: ~part),
        inner.map(always),
        inner.map(once),
        st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        st.tuples(inner, inner).map(lambda pair: since(*pair)),
    ),
    max_leaves=6,
)


@pytest.mark.slow
@given(formulas, st.lists(st.sampled_from(LETTERS), min_size=1, max_size=12))
def test_a_monitor_agrees_with_the_definitions(must: Formula, trace: list[str]) -> None:
    anything = event(*LETTERS)
    monitor = RuleMonitor(Rule(name="r", when=anything, must=must, message=""))
    for place, name in enumerate(trace):
        now = ObservedEvent(name=name)
        assert bool(monitor.find_violations(now)) is not holds(must, trace[: place + 1])
        monitor.observe(now)


def happening(text: str) -> ObservedEvent:
    name, _, key = text.partition(":")
    return ObservedEvent(name=name, keys={"path": frozenset({key})} if key else {})


@pytest.mark.parametrize(
    ("trace", "broken"),
    [
        ("read:a edit:a", []),
        ("read:a edit:b", ["b"]),
        ("edit:a read:a edit:a", ["a"]),
        ("close edit:a", ["a"]),
        ("read:a close edit:a", ["a"]),
        ("read:a read:b close read:b edit:a edit:b", ["a"]),
        ("other:a other read:a other edit:a", []),
    ],
)
def test_each_value_of_a_key_is_followed_apart(trace: str, broken: list[str]) -> None:
    rule = Rule(
        name="r",
        key="path",
        when=event("edit"),
        must=since(~event("close"), event("read")),
        message="{key} was not read",
    )
    monitor = RuleMonitor(rule)
    found = []
    for each in map(happening, trace.split()):
        found += monitor.find_violations(each)
        monitor.observe(each)
    assert [breach.about for breach in found] == broken
    assert [breach.message for breach in found] == [f"{path} was not read" for path in broken]


@pytest.mark.slow
def test_an_event_costs_the_same_after_a_long_session() -> None:
    """By the processor time of this thread, which other work on the machine does not count into."""
    rule = Rule(name="r", key="path", when=event("edit"), must=once(event("read")), message="")
    monitor = RuleMonitor(rule)

    def cost(events: list[ObservedEvent]) -> float:
        start = time.thread_time()
        for each in events:
            monitor.find_violations(each)
            monitor.observe(each)
        return (time.thread_time() - start) / len(events)

    few = [happening(f"read:{number % 10}") for number in range(5_000)]
    many = [happening(f"edit:{number}") for number in range(50_000)]
    early = min(cost(few) for _ in range(3))
    cost(many)
    late = min(cost(few) for _ in range(3))
    assert late < 10 * early  # it is the same; what grew with the session would be thousands of times as much
