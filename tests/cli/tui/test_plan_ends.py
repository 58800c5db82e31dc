"""Plan mode ends with the plan, whatever its task is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.tui.test_without_model import TEST
from tests.support.cli import call, git
from tests.support.talking import at_rest, leave, log_of, prompted, talk

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


EDIT = call("edit", path="cart.py", old=" - 1", new="")
PLAN = call("plan", items=[{"text": "take the one away", "status": "open"}])


@pytest.mark.parametrize(
    ("turns", "steps"),
    [
        pytest.param([{"calls": [EDIT]}, {"text": "That is the plan."}], 9, id="an edit is denied at last"),
        pytest.param(
            [{"calls": [call("run_tests")]}, {"text": "That is the plan."}], 9, id="tests could not be run"
        ),
        pytest.param([{"calls": [PLAN]}, {"text": "Too late."}], 1, id="steps are used up"),
        pytest.param([{"text": "", "repeat": 4}], 9, id="the answer is empty"),
    ],
)
def test_a_turn_in_plan_mode_ends_with_the_question(
    shop: Path, turns: Sequence[Mapping[str, Any]], steps: int
) -> None:
    """In a project without tests, begun by the key."""
    with talk(shop, turns, columns=100, rows=30, PATCHWRIGHT_MAX_STEPS=str(steps)) as terminal:
        at_rest(terminal)
        terminal.type("\x1b[Z")
        terminal.wait("say what to plan")
        terminal.type("make test_cart.py::test_total pass\r")
        terminal.wait("The plan is made. What now?")
        terminal.type("e")
        terminal.wait(lambda: prompted(terminal).startswith("Carry out th") and "⇧⇥" in terminal.text)
        terminal.type("\x03")
        at_rest(terminal)
        leave(terminal)
    assert " - 1" in (shop / "cart.py").read_text()
