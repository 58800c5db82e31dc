"""`/attempts`: one row for each attempt while they run, then all of them with the reason of the choice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.support.cli import call, environment, script
from tests.support.golden import compare, steady
from tests.support.talking import AT_SIZES, ask, at_rest, leave, logs, talk

pytestmark = pytest.mark.slow


@AT_SIZES
def test_attempts_are_shown_while_they_run_and_the_best_is_applied(
    columns: int, rows: int, shop: Path
) -> None:
    turns = [
        {"calls": [call("edit", path="cart.py", old=" - 1", new="")], "expect": ["mend the cart"]},
        {"text": "It adds up.", "delay": 1},
    ]
    with talk(shop, turns, "--tests", "true", columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        ask(terminal, "/attempts", "this session has made no")
        terminal.type("/attempts 2 mend the cart\r")
        terminal.wait("attempt 1: step 2")
        terminal.wait("is applied: 2 attempts")
        terminal.wait("It adds up.")
        at_rest(terminal)
        assert "attempt 2: passed" in terminal.everything
        applied = terminal.everything.partition("applied, from attempt ")[2]
        assert "return sum(item.price for item in items)" in " ".join(applied.split())
        assert " - 1" not in (shop / "cart.py").read_text()
        assert max(map(len, terminal.text.split("\n"))) <= columns
        terminal.type("/attempts\r")
        terminal.wait("2 of 2 ")  # in the order in which they began
        terminal.type("1\r")
        terminal.wait("Attempt ")
        terminal.type("transcript\r")
        terminal.wait("end · ")
        terminal.type("q")
        at_rest(terminal)
        ask(terminal, "/undo", "cart.py")
        leave(terminal)
    assert " - 1" in (shop / "cart.py").read_text()
    first = [json.loads(path.read_text().splitlines()[0]) for path in logs()]
    assert sum(each.get("started_by") is not None for each in first) == 2


TEST = """import unittest

import cart


class Test(unittest.TestCase):
    def test_count(self):
        self.assertEqual(cart.count([1, 2]), 2)

    def test_total(self):
        self.assertEqual(cart.total([1, 2]), 3)
"""
CART = """def count(prices):
    return len(prices) - 1


def total(prices):
    return -sum(prices)
"""
ONE = {"calls": [call("edit", path="cart.py", old="len(prices) - 1", new="len(prices)")]}
OTHER = {"calls": [call("edit", path="cart.py", old="-sum", new="sum")]}
STOP = {"text": "I see no more.", "repeat": 3}
NEVER = {"text": "Too late.", "delay": 300}


@pytest.mark.parametrize(("columns", "rows"), [(40, 15), (80, 24), (120, 40)])
def test_the_tree_is_directed_while_it_runs_and_another_attempt_taken(
    columns: int, rows: int, shop: Path
) -> None:
    """Its screens: the live rows, the tree with its choices, two attempts compared."""
    (shop / "cart.py").write_text(CART)
    (shop / "test_cart.py").write_text(TEST)
    heard = {**OTHER, "expect": ["look at total()"]}
    held = f"while [ ! -e {shop.parent / 'go'} ]; do sleep 0.05; done"
    script(shop.parent, [ONE, STOP], "one.json")
    script(shop.parent, [{"calls": [call("shell", command=held)]}, heard, STOP], "two.json")
    script(shop.parent, [NEVER], "three.json")
    config = Home.from_environment(environment()).config
    config.mkdir(parents=True, exist_ok=True)
    models = ["scripted:../one.json", "scripted:../two.json", "scripted:../three.json"]
    (config / "settings.toml").write_text(f'[strategy]\nname = "tree"\nmodels = {json.dumps(models)}\n')
    options = ("--tests", "python3 -m unittest", "--sandbox", "unconfined", "--mode", "full")
    with talk(shop, [STOP], *options, columns=columns, rows=rows) as terminal:
        at_rest(terminal)
        terminal.type("make all tests pass\r")
        terminal.wait(lambda: all(f"attempt {n}: step" in terminal.text for n in (2, 3)))
        terminal.type("/attempts guide 2 look at total()\r")
        terminal.wait("you to attempt 2: look at total()")
        terminal.type("/attempts stop 3\r")
        terminal.wait("you stop attempt 3")
        terminal.type("/attempts use 1\r")
        terminal.wait("has to wait until")
        (shop.parent / "go").touch()
        terminal.wait("attempt 2 is applied")
        at_rest(terminal)
        terminal.type("/attempts\r")
        terminal.wait(lambda: "3 of 3" in terminal.text.partition("Which attempt?")[2])
        compare(steady(terminal.text[terminal.text.rindex("Which attempt?") :]), f"attempts-{columns}x{rows}")
        terminal.type("attempt 1\r")
        terminal.wait(lambda: "4 of 4" in terminal.text.rpartition("Attempt 1")[2])
        compare(steady(terminal.text[terminal.text.rindex("Attempt 1") :]), f"attempt-{columns}x{rows}")
        terminal.type("\x1b")
        at_rest(terminal)
        terminal.type("/attempts diff 1 2\r")
        terminal.wait("+     return sum(prices)" if columns < 140 else "return sum(prices)")
        at_rest(terminal)
        shown = terminal.everything[terminal.everything.rindex("/attempts diff 1 2") :]
        shown = shown[: shown.rindex("return sum(prices)")] + "return sum(prices)"
        compare(shown + "\n", f"compared-{columns}x{rows}")
        ask(terminal, "/attempts use 1", "bring_back cart.py")
        assert "-sum" in (shop / "cart.py").read_text()
        ask(terminal, "/undo", "1 file")
        assert "-sum" not in (shop / "cart.py").read_text()
        ask(terminal, "/attempts use 9", "no attempt 9")
        leave(terminal)
    everything = terminal.everything
    assert "  attempt 2" in everything, "below the attempt that it goes on from"
    assert max(map(len, everything.split("\n"))) <= columns
