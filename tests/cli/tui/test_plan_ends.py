"""Plan mode ends with the plan, whatever its task is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.tui.test_without_model import TEST
from tests.support.cli import call, git
from tests.support.talking import at_rest, leave, log_of, talk

pytestmark = pytest.mark.slow


def test_a_plan_for_failing_tests_is_offered_and_no_test_is_run(shop: Path) -> None:
    (shop / "test_cart.py").write_text(TEST)
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "Test the total")
    plan = call("plan", items=[{"text": "take the one away", "status": "open"}])
    turns = [
        {"calls": [plan]},
        {"text": "That is the plan."},
        {"calls": [call("edit", path="cart.py", old=" - 1", new="")], "expect": ["Carry out this plan"]},
        {"text": "Carried out."},
    ]
    with talk(shop, turns, columns=100, rows=30) as terminal:
        at_rest(terminal)
        terminal.type("/plan make test_cart.py::test_total pass\r")
        terminal.wait("The plan is made. What now?")
        assert "✗" not in terminal.everything
        assert not [each for each in log_of(shop) if each["kind"] == "action" and each["tool"] == "run_tests"]
        terminal.type("c")
        terminal.wait("1 passed")  # the work is verified as ever
        at_rest(terminal)
        leave(terminal)
