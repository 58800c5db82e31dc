"""Questions without a model: answered in one session, in every mode, and not a byte of the project changes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.events import ActionEvent, End
from agent.mode_switch import switch_mode
from agent.session_request import SessionRequest
from agent.turn.runtime import Runtime
from cli.tui.conversation.plan_mode import ASKED
from sandbox.policy.decision import Mode
from tests.support.child_sessions import settings_for
from tests.support.cli import run
from tests.support.repo import Repo
from tests.support.worlds import git_state, image

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CART = """\
from discount import apply_discount


class Cart:
    def __init__(self, prices):
        self.prices = prices


def total(prices):
    \"\"\"Return the sum of prices.\"\"\"
    result = 0
    for price in prices[1:]:
        result += price
    return result


def checkout(prices, percent):
    return apply_discount(total(prices), percent)
"""
DISCOUNT = "def apply_discount(amount, percent):\n    return amount - amount * percent / 100\n"
TESTS = """\
from pathlib import Path

from cart import total


def test_total():
    assert total([1, 2]) == 3


def test_empty():
    assert total([]) == 0


def test_notes():
    try:
        Path("notes.txt").write_text("a test was here")
    except OSError:
        pass
"""
"""The last one writes to the project where it is let."""

LOOKED_UP = [
    "where is total defined?",
    "Where is the class Cart?",
    "which file defines Cart?",
    "find the definition of apply_discount",
    "where is nothing_like_it defined?",
    "who calls apply_discount?",
    "where is total used?",
    "list the references to total",
    "is apply_discount used anywhere?",
    "who imports cart.py?",
    "what would break if I change total?",
    "what does checkout call?",
    "what does cart.py import?",
    "what does total do?",
    "What does cart.py do?",
    "explain apply_discount",
    "how does apply_discount work?",
    "I don't understand apply_discount",
    "what parameters does total take?",
    "what does test_total check?",
    "explain test_total",
    "what does test_cart.py test?",
    "which tests cover cart.py?",
    "does apply_discount have tests?",
    "what changed?",
    "what has changed since the last commit?",
    "show me the latest commits",
    "who changed cart.py last?",
    "who wrote apply_discount?",
    "what happened in the last commit?",
    "are there uncommitted changes?",
    "what is this project?",
    "give me an overview of the code",
    "I'm new here, where do I start?",
    "where is the discount calculated?",
    "wo ist total definiert?",
    "qué hace apply_discount",
    "où est définie total ?",
    "could you explain how apply_discount works? no edits.",
    "tell me about the Cart class",
    "how do I run the tests?",
]
RUN = [
    "which tests fail?",
    "don't fix anything, just tell me why test_total fails",
    "where is the bug?",
    "how would you fix test_total?",
]


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", CART)
    repo.write("discount.py", DISCOUNT)
    repo.write("test_cart.py", TESTS)
    repo.commit_all("Open the shop")
    repo.write("todo.txt", "a file that is not committed\n")
    return repo


def test_after_more_than_forty_questions_the_project_is_as_it_was(shop: Repo) -> None:
    before = image(shop.root), git_state(shop)
    ends, tools = asyncio.run(hold_session(shop, [*LOOKED_UP, *RUN]))
    assert (image(shop.root), git_state(shop)) == before
    assert len(ends) > 40
    assert {each.exit_code for each in ends} == {0}, [each for each in ends if each.exit_code]
    assert all("No model: only what can be looked up." in each.summary for each in ends)
    assert not tools & {"edit", "write", "apply_patch", "git_commit", "shell", "run_tests"}


@pytest.mark.parametrize("mode", ["read-only", "plan"])
def test_where_nothing_may_be_written_they_are_answered_as_well(shop: Repo, mode: str) -> None:
    before = image(shop.root), git_state(shop)
    ends, _ = asyncio.run(hold_session(shop, [*LOOKED_UP[::5], *RUN[:2]], mode))
    assert (image(shop.root), git_state(shop)) == before
    assert {each.exit_code for each in ends} == {0}, [each for each in ends if each.exit_code]


def test_in_plan_mode_a_wish_is_answered_with_what_would_be_changed(shop: Repo) -> None:
    before = image(shop.root), git_state(shop)
    ends, _ = asyncio.run(hold_session(shop, ["make the failing tests pass"], "plan"))
    assert (image(shop.root), git_state(shop)) == before
    assert ends[0].outcome == "tests-fail", "which is so"
    assert "nothing was written" in ends[0].summary


async def hold_session(shop: Repo, prompts: list[str], mode: str = "workspace") -> tuple[list[End], set[str]]:
    """The ends of the turns of one session, and the tools that it used."""
    settings = replace(settings_for("offline", sandbox="auto"), commit="turn")
    if mode == "read-only":
        settings = replace(settings, access=replace(settings.access, mode=Mode.READ_ONLY))
    runtime = assemble_runtime(settings, SessionRequest(working=shop.root), Home.from_environment())
    tools: set[str] = set()
    runtime.session.subscribe(lambda event: tools.add(event.tool) if isinstance(event, ActionEvent) else None)
    try:
        if mode == "plan":
            await switch_mode(runtime, Mode.READ_ONLY)
        notes = [ASKED] if mode == "plan" else []
        return [await ask(runtime, each, notes) for each in prompts], tools
    finally:
        await runtime.close()


async def ask(runtime: Runtime, prompt: str, notes: list[str]) -> End:
    return await runtime.run_turn(prompt, notes=notes)


def test_from_the_command_line_an_answer_is_the_output_and_a_decline_is_exit_6(shop: Repo) -> None:
    answered = run("run", "where is apply_discount defined?", "--model", "offline", cwd=shop.root)
    assert (answered.code, "discount.py:1" in answered.out) == (0, True), answered.err
    told = run("run", "who calls apply_discount?", "--model", "offline", "--output", "json", cwd=shop.root)
    result = json.loads(told.out)
    assert (result["outcome"], result["exit_code"], result["files"]) == ("done", 0, [])
    assert "cart.py" in result["summary"]
    for prompt, words in (
        ("the tests are failing", "is it a repair that you want"),
        ("add a dark mode", "needs a model"),
    ):
        declined = run("run", prompt, "--model", "offline", cwd=shop.root)
        assert (declined.code, declined.out) == (6, ""), prompt
        assert words in declined.err
