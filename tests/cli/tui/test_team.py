"""`/team` on a real terminal: its roles are seen in /agents, steered, stopped and opened like agents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import call, script
from tests.support.strategy_team import answers
from tests.support.talking import at_rest, cleared, leave, talk

pytestmark = pytest.mark.slow

SIZES = ((50, 20), (80, 24), (120, 40))

TASK = "The total in cart.py has to add up, and the status in order.py has to stay"
BRIEF = {"title": "Mend the total", "requirements": ["total adds up", "the status stays"]}
PLAN = {"steps": [{"id": "cart", "task": "mend total", "covers": [1, 2], "done_when": "it adds up"}]}

ROLES: dict[str, list[dict[str, Any]]] = {
    "brief": [
        {"calls": [call("read", path="cart.py")]},
        {"calls": [call("read", path="order.py")], "delay": 1.5},
        {**answers(BRIEF)[0], "expect": [{"anywhere": "the status is fine"}]},
    ],
    "plan": answers(PLAN),
    "tester": [{"text": "Never said.", "delay": 60}],
    "coder": [{"calls": [call("edit", path="cart.py", old=" - 1", new="")]}, {"text": "It is mended."}],
    "judge": [{"text": '{"accepts": true, "reason": "right"}', "repeat": 9}],
}


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_the_roles_of_a_team_are_seen_steered_stopped_and_opened(columns: int, rows: int, shop: Path) -> None:
    models = {name: script(shop.parent, turns, f"{name}.json") for name, turns in ROLES.items()}
    table = ", ".join(f"{name} = {json.dumps(model)}" for name, model in models.items())
    env = {
        "PATCHWRIGHT_AGENTS__MODELS": f"{{{table}}}",
        "PATCHWRIGHT_MODELS__JUDGE": models["judge"],
        "PATCHWRIGHT_STRATEGY__ATTEMPTS": "1",
    }
    own = [{"text": "Not asked."}]
    with talk(shop, own, "--tests", "true", columns=columns, rows=rows, **env) as terminal:
        at_rest(terminal)
        terminal.type(f"/team {TASK}\r")
        terminal.wait("▸ brief: step 2")
        terminal.type("/agents steer brief-1 the status is fine\r")
        terminal.wait("gets it after its present step")
        terminal.type("/agents\r")
        terminal.wait("Which agent?")
        terminal.wait("▸ brief-1  at work")
        terminal.type("\x1b")
        terminal.wait("▸ tester: step 1")
        terminal.type("/agents stop tester-3\r")
        terminal.wait("stopping tester-3")
        terminal.wait("Mend the total")
        terminal.wait("no tests were written for it")
        for row in ("· plan: done; ", "· tester: interrupted; ", "· cart: passed: "):
            terminal.wait(row)
        at_rest(terminal)
        terminal.type("/agents\r")
        terminal.wait("Which agent?")
        for row in (r"✔ plan-2 +done", r"✗ tester-3 +interrupted", r"✔ cart-4 +done", r"✔ reviewer-5 +done"):
            terminal.wait(lambda row=row: re.search(row, terminal.text) is not None)  # type: ignore[misc]
        assert max(map(len, terminal.text.split("\n"))) <= columns
        cleared(terminal, "\x1b")
        at_rest(terminal)
        terminal.type("/agents cart-4\r")
        terminal.wait("PgUp PgDn")
        terminal.wait("It is mended.")
        assert max(map(len, terminal.text.split("\n"))) <= columns
        terminal.type("q")
        at_rest(terminal)
        leave(terminal)
    assert " - 1" not in (shop / "cart.py").read_text()
