"""What a session cost and for what, and failing tests that are run again by Enter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.cli import call
from tests.support.talking import AT_SIZES, ask, at_rest, leave, log_of, talk

pytestmark = pytest.mark.slow

TESTS = """\
from types import SimpleNamespace as Item

from cart import total


def test_total():
    assert total([Item(price=2)]) == 2


def test_empty():
    assert total([]) == 0


def test_type():
    assert total([]) <= 0
"""


@AT_SIZES
def test_the_cost_of_each_step_is_told_with_its_tokens_by_kind(shop: Path, columns: int, rows: int) -> None:
    used = {"input": 2100, "cached": 1800, "output": 140, "reasoning": 90, "cost": 0.0081}
    turns = [
        {"calls": [call("read", path="cart.py"), call("read", path="order.py")], "usage": used},
        {"text": "It is a shop.", "usage": {"input": 2600, "cached": 2048, "output": 20, "cost": 0.0019}},
        {"text": "Nothing else.", "usage": {"input": 2700, "output": 10, "cost": 0.02}},
    ]
    with talk(shop, turns, columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        ask(terminal, "what is it?", "It is a shop.")
        ask(terminal, "what else?", "Nothing else.")
        terminal.type("/cost steps\r")
        terminal.wait("what else? · $0.0200")
        at_rest(terminal)
        shown = re.sub(r"\s+", " ", terminal.everything)
        assert "in cached out reasoning cost time for" in shown
        assert re.search(
            r"what is it\? · \$0\.0100 1 2\.1k 1\.8k 140 90 \$0\.0081 \d+\.\d s read 2 2\.6k", shown
        )
        assert re.search(r"what else\? · \$0\.0200 3 2\.7k 0 10 0 \$0\.0200 \d+\.\d s answer", shown)
        ask(terminal, "/cost", "3 calls: 7.4k tokens in (3.8k of them")
        ask(terminal, "/cost all", "/cost does not know 'all'")
        leave(terminal)


@AT_SIZES
def test_failing_tests_are_run_again_by_enter(shop: Path, columns: int, rows: int) -> None:
    (shop / "test_cart.py").write_text(TESTS)
    with talk(shop, [], columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        terminal.type("/tests\r")
        terminal.wait("2 failing tests: run which one again?"[: columns - 2])
        terminal.wait("2 of 2")
        terminal.type("empty")
        terminal.wait("1 of 2")
        source = (shop / "cart.py").read_text()
        (shop / "cart.py").write_text(source.replace(" - 1", ""))
        terminal.type("\r")
        terminal.wait("1 failing test: run which one again?"[: columns - 2])
        terminal.wait("passes now")
        terminal.type("total\r")  # the list ends when none fails any more
        at_rest(terminal)
        leave(terminal)
    reports = [event["data"]["report"] for event in log_of(shop) if event["kind"] == "observation"]
    assert [each["targets"] for each in reports] == [
        [],
        ["test_cart.py::test_empty"],
        ["test_cart.py::test_total"],
    ]
