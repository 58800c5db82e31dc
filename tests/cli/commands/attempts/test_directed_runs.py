"""`patchwright attempts guide` and `stop` reach a run in another process, and outlive its kill."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.events import AttemptEvent
from agent.session.log import read_events
from agent.session.session_pruning import is_open
from cli.detached.run_record import read_record
from tests.support.cli import call, environment, run, script
from tests.support.repo import Repo
from tests.support.strategy_stories import Story
from tests.support.talking import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

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
WORDS = "look at total()"
OPEN = ("--sandbox", "unconfined", "--tests", "python3 -m unittest")


def read_states(shop: Repo) -> dict[int, str]:
    listed = run("attempts", "--json", cwd=shop.root)
    found: list[dict[str, Any]] = json.loads(listed.out)["attempts"] if listed.code == 0 else []
    return {each["number"]: each["state"] for each in found}


def test_directions_reach_a_background_run_and_its_resumed_turn(tmp_path: Path) -> None:
    shop = Story.create(
        tmp_path, {"cart.py": CART, "test_cart.py": TEST, ".gitignore": "__pycache__/\n"}
    ).repo
    turns = {"one": [ONE, STOP], "two": [NEVER], "three": [NEVER]}
    models = [script(tmp_path, given, f"{name}.json") for name, given in turns.items()]
    config = Home.from_environment(environment()).config
    config.mkdir(parents=True, exist_ok=True)
    (config / "settings.toml").write_text(f"[strategy]\nmodels = {json.dumps(models)}\n")
    options = ("--strategy", "tree", "--attempts", "3", "--model", models[0], *OPEN)
    alone = {"PATCHWRIGHT_APPROVAL": "never"}
    started = run("run", "mend the cart", "--background", *options, cwd=shop.root, env=alone)
    assert started.code == 0, started.err
    session = started.out.strip()
    wait_until(lambda: read_states(shop).get(3) == "running")
    assert read_states(shop) == {1: "ended", 2: "running", 3: "running"}

    stopped = run("attempts", "stop", "3", "--session", session[-4:], cwd=shop.root)
    assert stopped.code == 0, stopped.err
    wait_until(lambda: read_states(shop)[3] == "stopped")
    assert run("attempts", "stop", "3", cwd=shop.root).code == 2, "it is stopped already"
    assert run("attempts", "guide", "7", WORDS, cwd=shop.root).code == 2
    guided = run("attempts", "guide", "1", WORDS, cwd=shop.root)
    assert guided.code == 0, guided.err

    folder = Home.from_environment(environment()).get_project_folder(shop.root) / "sessions" / session
    record = read_record(folder)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    wait_until(lambda: not is_open(folder))
    assert read_states(shop) == {1: "ended", 2: "cut off", 3: "stopped"}
    kept = run("attempts", "guide", "1", "and be quick", cwd=shop.root)
    assert (kept.code, kept.out) == (0, f"kept for: patchwright resume {session}\n")

    told = [{"anywhere": WORDS}, {"anywhere": "and be quick"}]
    script(tmp_path, [{**OTHER, "expect": told}, STOP], "two.json")
    resumed = run("resume", session, *OPEN, cwd=shop.root, timeout=240)
    assert resumed.code == 0, resumed.err
    assert shop.show("cart.py") == CART.replace(" - 1", "").replace("-sum", "sum")
    begun = [each for each in read_events(folder) if isinstance(each, AttemptEvent)]
    assert sorted((each.number, each.after) for each in begun) == [(1, 0), (2, 1), (2, 1), (3, 0)], (
        "3 is not made again"
    )
    listed = run("attempts", cwd=shop.root).out
    assert "1: failed · mends 1, breaks 0 · guided by you · own way · 2 lines" in listed
    assert "3: stopped" in listed
    late = run("attempts", "guide", "1", WORDS, cwd=shop.root)
    assert late.code == 2
    assert late.err.startswith("patchwright: the turn of attempt 1 has ended\n")
