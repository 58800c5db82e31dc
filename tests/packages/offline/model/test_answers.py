"""Answers without a model, looked up by the real tools in a small project."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.model.protocol import AssistantMessage, Message, Request, ToolMessage, ToolSpec, UserMessage
from packages.offline.model.offline_model import answer_request
from sandbox.errors import UserError
from tests.support.repo import Repo
from tests.tools.workspaces import workspace
from tools.builtin_tools import TOOLS, UNTOLD
from tools.core.action import Action, Observation, ToolFailure
from tools.core.registry import Tool
from tools.core.workspace import Workspace

CART = '''\
from discount import apply_discount


class Cart:
    """A cart of a customer."""

    def __init__(self, prices):
        self.prices = prices

    def total(self):
        return total(self.prices)


def total(prices):
    """Return the sum of prices."""
    result = 0
    for price in prices[1:]:
        result += price
    return result


def checkout(cart, percent):
    """Return what a customer pays."""
    return apply_discount(cart.total(), percent)
'''
DISCOUNT = '''\
def apply_discount(amount, percent):
    """Return the amount after a discount in percent."""
    return amount - amount * percent / 100
'''
TESTS = '''\
import pytest

from cart import total
from discount import apply_discount


def test_total():
    """All prices count."""
    assert total([1, 2]) == 3


def test_empty():
    assert total([]) == 0


def test_discount():
    assert apply_discount(100, 10) == 90
    with pytest.raises(TypeError):
        apply_discount("a", 1)
'''
NO_MODEL = "No model: only what can be looked up."


@pytest.fixture
def shop(tmp_path: Path) -> Workspace:
    files = {"README.md": "# Shop\n\nCarts and discounts.\n", "cart.py": CART, "discount.py": DISCOUNT}
    config = "[tool.pytest.ini_options]\npythonpath = ['.']\n"
    at = workspace(tmp_path, {**files, "tests/test_cart.py": TESTS, "pyproject.toml": config})
    repo = Repo(at.root)
    repo.write(".gitignore", "__pycache__\n")
    repo.commit_all("Open the shop")
    return at


def load_tools() -> dict[str, Tool]:
    from importlib import import_module

    found = [getattr(import_module(module), name) for module, name in (*TOOLS, *UNTOLD)]
    return {each.name: each for each in found}


def ask(at: Workspace, prompt: str) -> tuple[str, list[Action]]:
    """The answer to a prompt, and the calls before it; the loop at its smallest."""
    return asyncio.run(drive(at, prompt))


async def drive(at: Workspace, prompt: str) -> tuple[str, list[Action]]:
    tools = load_tools()
    offered = [ToolSpec(name=t.name, description="", parameters=t.parameters) for t in tools.values()]
    messages: list[Message] = [UserMessage(text=prompt)]
    calls: list[Action] = []
    while True:
        reply = answer_request(Request(system="", messages=messages, tools=offered))
        (action,) = reply.actions
        tool = tools[action.tool]
        if tool.ends:
            assert action.arguments["status"] == "done"
            return str(action.arguments["summary"]), calls
        calls.append(action)
        try:
            seen = await tool.run(**tool.validate(action.arguments), at=at)
        except ToolFailure as failure:
            seen = Observation(text=str(failure), data=failure.data, failed=True)
        except UserError as error:
            seen = Observation(text=error.message, failed=True)
        messages.append(AssistantMessage(text=reply.text, actions=reply.actions))
        messages.append(
            ToolMessage(
                call=action.id, name=tool.name, text=seen.text, failed=seen.failed, data=dict(seen.data)
            )
        )
        assert len(calls) < 10, "an answer is found in a few steps"


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        ("where is apply_discount defined?", ["discount.py:1", "Return the amount after a discount"]),
        ("where is total defined?", ["defined at 2 places", "cart.py:10", "cart.py:14", "Ask for one of them"]),
        ("wo ist apply_discount definiert?", ["discount.py:1"]),
        ("who calls apply_discount?", ["cart.py", "(in checkout)", "tests/test_cart.py"]),
        ("what does checkout call?", ["apply_discount → discount.py:1"]),
        ("what does cart.py import?", ["discount → discount.py"]),
        ("what does apply_discount do?", ["def apply_discount(amount, percent)", "It is called by:", "(in checkout)"]),
        ("what does cart.py do?", ["class Cart", "imported by 1 file"]),
        ("what does test_discount check?", ["`apply_discount(100, 10)` equals `90`", "`TypeError`", "Its body:"]),
        ("what does tests/test_cart.py test?", ["has 3 tests", "`test_empty` (line 12): `total([])` equals `0`"]),
        ("which tests cover apply_discount?", ["in `test_discount`", "no coverage was measured"]),
        ("what changed?", ["Nothing changed since the last commit", "Open the shop"]),
        ("who wrote apply_discount?", ["discount.py:1–3", "def apply_discount"]),
        ("when was cart.py last changed?", ["Open the shop"]),
        ("what happened in the last commit?", ["Open the shop", "+class Cart:"]),
        ("what is this project?", ["> Carts and discounts.", "cart.py"]),
        ("where are the discounts calculated?", ["discount.py:1", "found by words alone"]),
        ("where is nosuchname defined?", ["nothing of that name"]),
        ("what does test_missing check?", ["nothing of that name"]),
    ],
)  # fmt: skip
def test_what_is_looked_up(shop: Workspace, prompt: str, parts: list[str]) -> None:
    answer, calls = ask(shop, prompt)
    assert [part for part in parts if part not in answer] == [], answer
    assert answer.endswith(NO_MODEL)
    assert "How far to trust it:" in answer
    assert all(load_tools()[each.tool].reads_only for each in calls)
    assert len({(each.tool, str(each.arguments)) for each in calls}) == len(calls), (
        "nothing is looked up twice"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prompt", "tools", "parts"),
    [
        ("which tests fail?", ["check_tests"], ["1 test fails, 2 pass", "`tests/test_cart.py::test_total`", "2 == 3"]),
        ("does test_empty pass?", ["code", "check_tests"], ["The 1 test passes"]),
        (
            "don't fix anything, just tell me why test_total fails",
            ["code", "check_tests", "why_failing", "localize"],
            ["assert 2 == 3", "cart.py:1", "suspicious"],
        ),
        ("where is the bug?", ["localize"], ["cart.py:1", "for price in prices[1:]"]),
        (
            "how would you fix test_total?",
            ["code", "check_tests", "repair"],
            ["```diff", "nothing was written"],
        ),
        ("how do I run the tests?", ["show_test_command"], ["-m pytest"]),
    ],
)  # fmt: skip
def test_what_is_run(shop: Workspace, prompt: str, tools: list[str], parts: list[str]) -> None:
    answer, calls = ask(shop, prompt)
    assert [each.tool for each in calls] == tools
    assert [part for part in parts if part not in answer] == [], answer
    assert answer.endswith(NO_MODEL)


@pytest.mark.parametrize(
    "prompt", ["what is the meaning of life?", "who won the match?", "is it going to rain?"]
)
def test_what_cannot_be_looked_up_is_declined(shop: Workspace, prompt: str) -> None:
    with pytest.raises(UserError, match="needs a model"):
        ask(shop, prompt)


def test_in_another_language_the_lines_that_assert_are_shown(tmp_path: Path) -> None:
    text = (
        "const assert = require('assert');\ntest('adds', () => {\n  assert.strictEqual(total([1]), 1);\n});\n"
    )
    at = workspace(tmp_path, {"test/cart.test.js": text})
    answer, _ = ask(at, "what does test/cart.test.js check?")
    assert "look like assertions:\n\n    assert.strictEqual(total([1]), 1);\n\nHow far" in answer


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("what changed?", "no answer: there is no git repository"),
        ("which tests fail?", "no answer: .*no runner"),
    ],
)
def test_where_there_is_nothing_to_look_at_the_reason_is_said(
    tmp_path: Path, prompt: str, reason: str
) -> None:
    with pytest.raises(UserError, match=reason):
        ask(workspace(tmp_path), prompt)
