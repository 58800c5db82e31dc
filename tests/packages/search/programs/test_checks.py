"""Assertions and examples become calls with expected values; inputs are drawn from them."""

from __future__ import annotations

import ast

import pytest

from packages.search.programs.behaviour import compute_value_key
from packages.search.programs.checks import Check, parse_assertion, parse_checks, parse_examples
from packages.search.programs.input_generation import (
    InputPlan,
    collect_literals,
    find_signature,
    generate_inputs,
    iter_smaller_calls,
)


@pytest.mark.parametrize(
    ("text", "call", "value"),
    [
        ("assert f(1) == 2", "([1], {})", 2),
        ("assert 2 == f(1), 'why'", "([1], {})", 2),
        ("assert f([1], key='a') is True", "([[1]], {'key': 'a'})", True),
        ("assert f('a')", "(['a'], {})", True),
        ("assert not f('a')", "(['a'], {})", False),
    ],
)
def test_a_comparison_is_a_call_and_a_value(text: str, call: str, value: object) -> None:
    check = parse_assertion(text, "f")
    assert check is not None
    assert (check.call, check.expected) == (call, compute_value_key(value))


@pytest.mark.parametrize("text", ["assert abs(f(1) - 2) < 0.1", "assert f(x) == 2", "assert f(f(1)) == 1"])
def test_any_other_assertion_stays_a_statement(text: str) -> None:
    check = parse_assertion(text, "f")
    assert check is not None
    assert (check.call, check.expected) == ("", "")


@pytest.mark.parametrize("text", ["assert g(1) == 2", "assert f(1", "x = f(1)", "assert f(" + "(" * 300])
def test_what_is_no_assertion_of_the_function_is_none(text: str) -> None:
    assert parse_assertion(text, "f") is None


def test_examples_are_found_in_prose() -> None:
    text = (
        "Return the sum.\n    >>> f([1, 2])\n    3\n    f([]) == 0 and f([1]) ➞ 1\n"
        '    f(["a)"], 2) returns "x". More.\n    f([5]) => 5  # why\n    f(x) = 3'
    )
    found = [(each.call, each.expected) for each in parse_examples(text, "f")]
    assert found == [
        ("([[1, 2]], {})", compute_value_key(3)),
        ("([[]], {})", compute_value_key(0)),
        ("([[1]], {})", compute_value_key(1)),
        ("([['a)'], 2], {})", compute_value_key("x")),
        ("([[5]], {})", compute_value_key(5)),
    ]


def test_a_file_of_assertions_may_hold_broken_lines() -> None:
    found = parse_checks("assert f(1) == 2\nassert f(1) == 2\nassert f(3) ==\nassert f(4) > 1\n", "f")
    assert found == [
        Check(text="assert f(1) == 2", call="([1], {})", expected=compute_value_key(2)),
        Check(text="assert f(4) > 1"),
    ]


def test_inputs_are_new_literals_of_the_usual_shape() -> None:
    given = ["([[1, 2], 3], {})", "([[5], 0], {})", "(['wrong'], {})"]
    plan = InputPlan(given=given, literals=[7], most=40)
    drawn = generate_inputs(plan)
    assert len(drawn) == len(set(drawn)) == 40
    assert drawn == generate_inputs(plan)
    assert not set(drawn) & set(given)
    calls = [ast.literal_eval(each)[0] for each in drawn]
    assert {tuple(map(type, each)) for each in calls} == {(list, int)}
    assert any(items == [] for items, _ in calls)
    assert any(number == 7 for _, number in calls)


def test_records_keep_their_fields_where_it_is_asked_for() -> None:
    given = ["([[{'n': 1, 'u': 2}, {'n': 2, 'u': 3}], [(1, 'a'), (2, 'b')]], {})"]
    drawn = generate_inputs(InputPlan(given=given, most=60, keep_rows=True))
    calls = [ast.literal_eval(each)[0] for each in drawn]
    assert len(calls) == 60
    assert all(list(row) == ["n", "u"] for rows, _ in calls for row in rows)
    assert all(len(row) == 2 for _, rows in calls for row in rows)
    assert any(len(rows) > 2 for rows, _ in calls)
    assert any({row["u"] for row in first} & {row[0] for row in second} for first, second in calls)
    other = [ast.literal_eval(each)[0] for each in generate_inputs(InputPlan(given=given, most=60))]
    assert any(list(row) != ["n", "u"] for rows, _ in other for row in rows)


def test_annotations_give_inputs_where_no_call_is_known() -> None:
    source = "def f(items: list[str], n: int = 2):\n    return items[:n] + ['zz']\n"
    signature = find_signature(["no Python (", source], "f")
    drawn = generate_inputs(InputPlan(given=[], most=30), signature)
    calls = [ast.literal_eval(each)[0] for each in drawn]
    assert all(isinstance(items, list) and type(number) is int for items, number in calls)
    assert [] in [items for items, _ in calls]
    assert collect_literals([source, "x = 2", "broken ("]) == [2, "zz"]


def test_simplifications_come_smallest_first() -> None:
    found = list(iter_smaller_calls("([[4, 9], 'abc'], {'k': 12})"))
    assert found[0] == min(found, key=len)
    assert "([[], 'abc'], {'k': 12})" in found
    assert "([[4], 'abc'], {'k': 12})" in found
    assert "([[4, 9], 'abc'], {'k': 0})" in found
