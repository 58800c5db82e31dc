"""Changed functions are run before and after: what they answer otherwise is told, and judged where a limit says so."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from packages.search.requirements.executed.behavior_check import judge_limit, list_behavior_notices
from packages.search.requirements.executed.behavior_runs import FunctionRuns, compare_functions
from packages.search.requirements.turn_changes import TurnChanges
from sandbox.backends.selection import choose_sandbox
from tests.support.repo import Repo, agent_writes
from tools.core.workspace import Workspace

CART = """\
def total(items):
    return sum(items)


def discount(price: int, percent: int) -> int:
    if percent > 100:
        raise ValueError(percent)
    return price - price * percent // 100


def names(items):
    return list({str(each) for each in items})
"""
TESTS = """\
from cart import names, total


def test_total():
    assert total([1, 2]) == 3
    assert total([5]) == 5


def test_names():
    assert names(["b", "a", "c"])
"""


@pytest.fixture
def shop(tmp_path: Path) -> Workspace:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write("test_cart.py", TESTS)
    repo.commit_all()
    at = repo.workspace()
    return replace(at, sandbox=choose_sandbox(at.root, spill=tmp_path / "spill"))


def change(at: Workspace, *edits: tuple[str, str]) -> tuple[list[FunctionRuns], TurnChanges]:
    """Make a turn of these edits of cart.py, and run its functions."""
    changes = TurnChanges(workspace=at)
    changes.begin_turn()
    text = CART
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    agent_writes(at, "cart.py", text)
    return asyncio.run(compare_functions(changes, at)), changes


@pytest.mark.slow
def test_an_exception_where_there_was_a_value_is_told(shop: Workspace) -> None:
    runs, changes = change(shop, ("return sum(items)", "return sum(items[1:], items[0])"))
    assert list(list_behavior_notices("make total quicker", runs, changes)) == [
        "total([]) returned 0, now raises IndexError"
    ]
    assert list(list_behavior_notices("total must raise an error for no items", runs, changes)) == []
    found = judge_limit("", "refactor total", runs)
    assert (found.state, found.evidence) == ("not met", "executed")
    assert judge_limit("only empty", "", runs).state == "met"
    assert judge_limit("", "refactor it; total([]) must raise IndexError", runs).state == "met"


@pytest.mark.slow
def test_another_function_than_the_named_one_is_told(shop: Workspace) -> None:
    runs, changes = change(
        shop, ("return sum(items)", "return sum(items) + 1"), ("* percent // 100", "* percent // 99")
    )
    [told] = list_behavior_notices("change total to count one more", runs, changes)
    assert told.startswith("not asked for: discount(")


@pytest.mark.slow
def test_a_repair_that_changes_no_answer_is_told(shop: Workspace) -> None:
    runs, changes = change(shop, ("return sum(items)", "found = sum(items)\n    return found"))
    [told] = list_behavior_notices("total of an empty cart is wrong, fix it", runs, changes)
    assert told.startswith("total answers as before, on ")
    assert list(list_behavior_notices("fix the slow total", runs, changes)) == []
    assert judge_limit("", "refactor total", runs).state == "met"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{str(each) for each in items}", "{str(each) for each in reversed(items)}"),  # no order is promised
        ("def total(items):", "def total(items, start=0):"),  # another signature
        (
            "    return sum(items)",
            "    return sum(items) if open('/etc/passwd') else 0",
        ),  # what it reads is not known
        ("    return sum(items)", "    while True:\n        pass"),  # no answer
    ],
)
def test_nothing_is_said_of_what_cannot_be_compared(shop: Workspace, old: str, new: str) -> None:
    runs, changes = change(shop, (old, new))
    assert not any(each.differences for each in runs)
    assert list(list_behavior_notices("change it", runs, changes)) == []
    assert not judge_limit("", "refactor it", runs).is_failure


def test_nothing_runs_without_a_sandbox(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write("test_cart.py", TESTS)
    repo.commit_all()
    at = repo.workspace()
    assert at.sandbox.name == "unconfined"
    assert change(at, ("sum(items)", "0"))[0] == []
