"""What a changed function does with the inputs of tests and with others near them."""

from __future__ import annotations

import asyncio
import sys
import types
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from packages.offline.repair.engine.candidates.ranking import ALTERED, LUCK, PlausiblePatch
from packages.offline.repair.engine.repair_engine import repair
from packages.offline.repair.engine.validation.behaviour_diff import BehaviourComparison, ComparisonResult
from packages.offline.repair.patchwright_worker.live_code.function_compiler import Outside, Program
from packages.offline.repair.patchwright_worker.live_code.input_comparison import (
    MOST_CALLS,
    MOST_NEAR,
    MOST_OBJECTS,
    InputComparison,
    describe_value,
)
from tests.packages.offline.repair.engine.validation.test_behaviour_diff import made
from tests.tools.workspaces import workspace


def differing(text: str, old: str, new: str) -> tuple[InputComparison, dict[str, Any]]:
    """The comparison of a program's function before and after a change, and the program's names."""
    text = dedent(text)
    start = text.index(old)
    program = Program("a.py", text)
    outer = program.find_outer(start, start + len(old))
    names: dict[str, Any] = {}
    exec(compile(text, "a.py", "exec"), names)
    scope: Any = types.SimpleNamespace(**names)
    for each in outer.classes:
        scope = getattr(scope, each.name)
    function = getattr(scope, outer.node.name)
    changed = program.compile_changed(outer, [[start, start + len(old), new]], True)
    return InputComparison(function, program.compile_original(outer, fuelled=True), changed), names


def counts(text: str, old: str, new: str, call: str) -> tuple[int, int]:
    """Inputs with which the function worked, and those with which it does otherwise, for what a call comes to."""
    found, names = differing(text, old, new)
    try:
        sys.setprofile(found.profile_call)
        exec(call, names)
    finally:
        sys.setprofile(None)
    worked, other = found.counts
    return worked, other


CHECK = """
    def allowed(text, strict=False):
        if text:
            return all(sign not in text for sign in ("/", "?"))
        return True
"""


def test_of_two_changes_that_tests_cannot_tell_apart_one_alters_less() -> None:
    worked, less = counts(CHECK, '("/", "?")', '("?",)', "allowed('ab')")
    again, more = counts(CHECK, "sign not in text", "text not in sign", "allowed('ab')")
    assert worked == again > 10
    assert 0 < less < more


def test_a_change_of_what_failed_before_alters_nothing_that_worked() -> None:
    text = "def first(items):\n    return items[0]\n"
    worked, other = counts(text, "items[0]", "items[0] if items else None", "first([1, 2])")
    assert worked > 0
    assert other == 0, "with the empty list it did not work before"


def test_what_is_refused_on_purpose_counts_as_well() -> None:
    text = "def f(n):\n    if n > 2:\n        raise ValueError(n)\n    return n\n"
    _, few = counts(text, "n > 2", "n >= 2", "f(1)")
    _, many = counts(text, "n > 2", "n == 2", "f(1)")
    assert few == many > 0, "of the inputs near 1 only 2 comes out otherwise"
    _, few = counts(text, "n > 2", "n >= 2", "f(2)")
    _, many = counts(text, "n > 2", "n == 2", "f(2)")
    assert 0 < few < many, "3 was refused, and is no more"


@pytest.mark.parametrize(
    ("text", "old", "new", "call"),
    [
        ("class A:\n    def set(self, k):\n        self.k = k\n", "= k", "= k + 1", "A().set(3)"),
        ("def f(items):\n    items.append(1)\n", "append(1)", "append(2)", "f([])"),
        ("def f(*a, b=1, **c):\n    return a, b, c\n", "return a, b", "return a, b + 1", "f(1, d=2)"),
        (
            "def f(n):\n    yield n\n    yield n\n",
            "yield n\n    yield n",
            "yield n\n    yield 0",
            "list(f(1))",
        ),
    ],
)
def test_what_becomes_of_the_arguments_counts_too(text: str, old: str, new: str, call: str) -> None:
    _, other = counts(text, old, new, call)
    assert other > 0


def test_what_has_no_end_is_no_answer() -> None:
    text = "def f(n):\n    while n > 1:\n        n -= 1\n    return n\n"
    worked, other = counts(text, "n -= 1", "n += 0", "f(3)")
    assert 0 < other <= worked
    endless = "def f(n):\n    while n != 1:\n        n += 0\n    return n\n"
    assert counts(endless, "+= 0", "-= 0", "f(1)") == (2, 0), "1 itself, and 1 as a constant of the function"


def test_the_program_goes_on_as_if_nobody_had_looked() -> None:
    found, names = differing("def f(items):\n    items.append(len(items))\n    return items\n", "len", "sum")
    given: list[int] = [5]
    try:
        sys.setprofile(found.profile_call)
        assert names["f"](given) == [5, 1]
    finally:
        sys.setprofile(None)
    assert given == [5, 1]
    assert found.counts[0] > 0


def test_few_calls_are_looked_at_and_each_only_once() -> None:
    found, names = differing("def f(n):\n    return n\n", "return n", "return n + 1")
    try:
        sys.setprofile(found.profile_call)
        for number in [*range(50), *range(50)]:
            names["f"](number)
    finally:
        sys.setprofile(None)
    assert found.counts[0] <= MOST_CALLS * (MOST_NEAR + 1)
    found.start_test()
    assert found.counts == [0, 0]


def test_what_is_too_large_to_be_copied_over_and_over_is_not_compared() -> None:
    text = "def f(rows):\n    return len(rows)\n"
    assert counts(text, "len(rows)", "len(rows) + 1", f"f([[] for _ in range({MOST_OBJECTS + 1})])") == (0, 0)
    assert counts(text, "len(rows)", "len(rows) + 1", "f([[], []])")[1] > 0


@pytest.mark.parametrize("text", ["async def f(n):\n    return n\n", "def f(n):\n    return lambda: n\n"])
def test_what_cannot_be_run_aside_is_not_compared(text: str) -> None:
    if text.startswith("async"):
        with pytest.raises(Outside):
            differing(text, "return n", "return n + 1")
    else:  # a function as a result is told by its name alone
        assert counts(text, "lambda: n", "lambda: n + 1", "f(1)")[1] == 0


def test_equal_values_are_told_by_the_same_words() -> None:
    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

    assert describe_value(Point(1)) == describe_value(Point(1)) != describe_value(Point(2))
    assert describe_value({"b", "a"}) == describe_value({"a", "b"})
    assert describe_value([1, (2,)]) != describe_value([1, [2]])
    endless: list[Any] = []
    endless.append(endless)
    assert describe_value(endless)


def test_what_alters_less_is_preferred_and_what_is_known_is_kept() -> None:
    candidate = replace(made('has(items, "rev")', 'has(items, "last")'), traits=(0.0,))
    found = PlausiblePatch(candidate=candidate, helped=frozenset({0}), trust=0.9, near=4)
    calm = ComparisonResult(candidate=candidate, altered=0.1).apply_to(found)
    wild = ComparisonResult(candidate=candidate, altered=0.6).apply_to(found)
    assert calm.preference < wild.preference
    assert ComparisonResult(candidate=candidate, disturbed=0.5).apply_to(calm) == replace(calm, disturbed=0.5)
    other = ComparisonResult(candidate=replace(candidate), altered=1.0)
    assert other.apply_to(found) is found
    assert ALTERED > 0


def test_what_was_no_likelier_than_chance_is_doubtful() -> None:
    likely = replace(made('has(items, "rev")', 'has(items, "last")'), traits=(0.0,), priority=LUCK * 9)
    found = PlausiblePatch(candidate=likely, helped=frozenset({0}), trust=0.9, near=4)
    chance = replace(found, candidate=replace(likely, priority=LUCK / 9))
    assert chance.is_doubtful
    assert not found.is_doubtful
    assert (found.probability_not_by_chance, chance.probability_not_by_chance) == pytest.approx((0.9, 0.1))
    assert found.preference < chance.preference
    unknown = replace(found, candidate=replace(likely, traits=(), priority=LUCK / 9))
    assert not unknown.is_doubtful
    assert unknown.probability_not_by_chance == 1.0


SHOP = {
    "stock.py": """\
        def label(name, count):
            if count > 0:
                return name + " (" + str(count) + ")"
            return name


        def fits(width, limit):
            if width > limit:
                return "no"
            if width == limit - 1:
                return "just"
            return "yes"
        """,
    "test_stock.py": """\
        from stock import fits


        def test_wide():
            assert fits(9, 5) == "no"


        def test_limit():
            assert fits(5, 5) == "just"


        def test_small():
            assert fits(1, 5) == "yes"
        """,
}


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_engine_asks_what_changes_alter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[ComparisonResult] = []
    note = BehaviourComparison.handle_reply

    def noted(self: BehaviourComparison, reply: Any) -> list[ComparisonResult]:
        found = note(self, reply)
        told.extend(found)
        return found

    monkeypatch.setattr(BehaviourComparison, "handle_reply", noted)
    result = asyncio.run(repair(workspace(tmp_path, SHOP), budget=40))
    assert result.outcome == "fixed"
    assert "width == limit:" in result.fixes[0].new
    shares = [each.altered for each in told if each.altered is not None]
    assert any(0 < share < 1 for share in shares), "only widths at the limit notice"
