"""`auto`: which strategy it chooses, why, and that a turn is made by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.events import AttemptEvent, Signal
from agent.session.session_index import SessionSummary
from agent.session_settings import StrategySettings
from packages.search.auto_strategy import NAME, Situation, choose_strategy, select_alike, select_past
from tests.support.cli import call, script
from tests.support.strategy_stories import TEST, Story, read_events_of, tell_story


@pytest.mark.parametrize(
    ("seen", "name", "why"),
    [
        ({"obstacle": "no commit yet", "failing": 2}, "single", "no commit yet"),
        ({"is_weak": True, "failing": 2}, "pipeline", "too small"),
        ({"failing": 1, "files": 1}, "tree", "1 test fails now"),
        ({"failing": 3, "files": 2}, "evolve", "3 tests fail now, in 2 files"),
        ({"failing": 1, "budget": 0.5, "cost": 0.2}, "single", "$0.50 is less than 3 sessions here cost"),
        ({"failing": 1, "budget": 0.7, "cost": 0.2}, "tree", "1 test fails now"),
        ({"has_tests": True, "past": ["done", "tests-fail"] * 2}, "sample", "2 of the last 4"),
        (
            {"has_tests": True, "past": ["done", "tests-fail"] * 2, "kind": "repair"},
            "sample",
            "2 of the last 4 sessions here that asked for a repair failed",
        ),
        ({"has_tests": True, "past": ["tests-fail", "limit"] * 2}, "single", "no test fails"),
        ({"has_tests": True, "past": ["done"] * 9 + ["tests-fail"], "places": 2}, "team", "2 independent"),
        ({}, "single", "no test fails now"),
    ],
)
def test_the_choice_follows_task_model_budget_and_past(seen: dict[str, Any], name: str, why: str) -> None:
    chosen, told = choose_strategy(Situation(**seen))
    assert chosen == name
    assert why in told


def make(
    id_: str, outcome: str, parent: str = "", project: str = "/shop", *, title: str = "", model: str = ""
) -> SessionSummary:
    return SessionSummary(
        path=Path(id_),
        id=id_,
        project=project,
        parent=parent,
        title=title,
        model=model,
        created=0,
        updated=0,
        steps=1,
        cost=1.0,
        outcome=outcome,
    )


def test_sessions_with_a_task_of_the_same_kind_count_where_there_are_enough() -> None:
    repairs = [make(f"r{number}", "tests-fail", title="fix the crash of total") for number in range(4)]
    changes = [make(f"c{number}", "done", title="add a flag to the parser") for number in range(9)]
    assert select_alike([*changes, *repairs], "fix the wrong sum in cart.py") == (repairs, "repair")
    assert select_alike([*changes, *repairs], "add an option to cart.py") == (changes, "change")
    assert select_alike([*changes, *repairs[:3]], "fix the wrong sum in cart.py") == (
        [*changes, *repairs[:3]],
        "",
    )
    assert select_alike([*changes, *repairs], "why is the sum wrong?")[1] == ""


def test_attempts_tell_how_one_session_ends_and_their_turn_does_not() -> None:
    """Two of three attempts failed, and the turn that chose the third one did not."""

    found = [
        make("own", ""),
        make("begun", "tests-fail", "own", "/cache/worktrees/0"),
        make("turn", "done"),
        *(make(f"a{n}", outcome, "turn", f"/cache/worktrees/{n}") for n, outcome in enumerate("xxd")),
        make("reader", "done", "alone"),
        make("alone", "done"),
    ]
    assert [each.id for each in select_past(found, "own", "/shop")] == ["a0", "a1", "a2", "alone"]


@pytest.mark.slow
def test_the_chosen_one_is_told_of_failing_tests(tmp_path: Path) -> None:
    right = {"cart.py": "def total(prices):\n    return sum(prices)\n", "test_cart.py": TEST}
    shop = Story.create(tmp_path, right)
    turns: list[dict[str, Any]] = [
        {"calls": [call("edit", path="cart.py", old="sum(prices)", new="-sum(prices)")]},
        {"text": "The sign is other now."},
        {"calls": [call("edit", path="cart.py", old="-sum(prices)", new="sum(prices) + 0")]},
        {"text": "The tests pass."},
    ]
    end = tell_story(shop, script(tmp_path, turns), StrategySettings(name="auto"))
    (told,) = [each.detail for each in read_events_of(shop, Signal) if each.name == NAME]
    assert told.startswith("single: ")
    assert (end.outcome, end.summary) == ("done", "The tests pass.")


@pytest.mark.slow
def test_a_turn_is_made_by_the_chosen_one_and_says_why(tmp_path: Path) -> None:
    shop = Story.create(tmp_path)
    edit = {"calls": [call("edit", path="cart.py", old="-sum", new="sum")]}
    model = script(tmp_path, [edit, {"text": "It adds up."}])
    end = tell_story(shop, model, StrategySettings(name="auto"))
    assert end.outcome == "done"
    (told,) = [each.detail for each in read_events_of(shop, Signal) if each.name == NAME]
    assert told == "tree: 1 test fails now, and tests tell how far a change has come"
    assert [each.strategy for each in read_events_of(shop, AttemptEvent)] == ["auto"]
