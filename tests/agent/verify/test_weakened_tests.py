"""The guard against weakened tests over several turns of a conversation."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.events import Signal
from tests.support.bench import Bench, bench
from tests.support.cli import call
from tests.support.repo import remember_original
from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace

TEST = "def test_total():\n    assert total() == {}\n"


@tool("write")
async def put(name: str, content: str, *, at: Workspace) -> Observation:
    """Write a file."""
    remember_original(at, name)
    at.files.write(name, content.encode())
    return Observation(text=f"put {name}")


@tool("execute")
async def run_tests(*, at: Workspace) -> Observation:
    """Pass."""
    return Observation(text="1 passed", data={"report": {"outcome": "passed", "passed": 1}})


def conversation(tmp_path: Path, *expected: int | str) -> Bench:
    """A session whose model writes a test file with one of these values in each turn, or answers with a text."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "test_total.py").write_text(TEST.format(6))
    turns = []
    for value in expected:
        if isinstance(value, int):
            turns.append({"calls": [call("put", name="test_total.py", content=TEST.format(value))]})
        else:
            turns.append({"text": value})
    return bench(tmp_path, turns, [put, run_tests])


def count_reports(it: Bench) -> int:
    return sum(isinstance(event, Signal) and event.name == "weakened-tests" for event in it.events)


def test_what_an_earlier_turn_was_asked_to_change_is_no_weakening_in_a_later_one(tmp_path: Path) -> None:
    it = conversation(tmp_path, 5, "changed", "looked", 4, "changed", "It is right so.")
    assert it.turn("change test_total to expect 5").outcome == "done"
    assert it.turn("what does it test?").outcome == "done"
    assert it.turn("mend the total").outcome == "not-achieved", "asked for once is not asked for again"
    assert count_reports(it) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("prompt", "outcome"), [("go on", "done"), ("the tests are outdated", "done")])
def test_in_a_conversation_a_weakened_test_is_told_once(tmp_path: Path, prompt: str, outcome: str) -> None:
    it = conversation(tmp_path, 5, "changed", "It is right so.", "Yes?")
    end = it.turn("mend the total")
    assert (end.outcome, "git commit -a" in end.summary) == ("not-achieved", True)
    assert it.turn(prompt).outcome == outcome
    assert count_reports(it) == 1


def test_a_restored_test_is_forgotten(tmp_path: Path) -> None:
    it = conversation(tmp_path, 5, "changed", 6, "restored")
    assert it.turn("look at the total").outcome == "done"
    assert count_reports(it) == 0
