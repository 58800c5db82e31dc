"""/agents on a real terminal: agents at work, their transcripts, steering, stopping, and a question that goes up."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import PATCHWRIGHT, call, environment, script
from tests.support.talking import ask, at_rest, cleared, leave, logs, talk
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

SIZES = ((50, 20), (80, 24), (120, 40))


def talk_with_agents(
    shop: Path,
    turns: Sequence[Mapping[str, Any]],
    agents: Mapping[str, Sequence[Mapping[str, Any]]],
    *words: str,
    **size: int,
) -> Terminal:
    models = {name: script(shop.parent, given, f"{name}.json") for name, given in agents.items()}
    table = ", ".join(f"{name} = {json.dumps(model)}" for name, model in models.items())
    env = {"PATCHWRIGHT_AGENTS__MODELS": f"{{{table}}}"}
    return talk(shop, turns, *words, **size, **env)  # type: ignore[arg-type]


def report(answer: str, **turn: Any) -> dict[str, Any]:
    place = {"place": "cart.py:2", "note": "The sum is made here."}
    return {"calls": [call("report", answer=answer, findings=[place])], **turn}


USAGE = {"input": 4000, "output": 200, "cost": 0.0123}


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_agents_are_seen_at_work_opened_steered_and_stopped(columns: int, rows: int, shop: Path) -> None:
    look = [
        {"calls": [call("read", path="cart.py")], "text": "I read the cart first.", "usage": USAGE},
        {"calls": [call("search", pattern="total")], "delay": 1.5},
        {"calls": [call("read", path="order.py")], "expect": [{"anywhere": "look at order.py, too"}]},
        report("It is in the cart."),
    ]
    wait = [report("Never said.", delay=60)]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Where is the total?"),
                   call("delegate", agent="reviewer", task="Review all of it, slowly and carefully, please.")]},
        {"text": "One has ended, one was stopped.", "expect": ["It is in the cart.", "Not finished"]},
    ]  # fmt: skip
    with talk_with_agents(
        shop, turns, {"explore": look, "reviewer": wait}, columns=columns, rows=rows
    ) as terminal:
        at_rest(terminal)
        ask(terminal, "/agents", "no agent was started")
        terminal.type("look around\r")
        terminal.wait("▸ explore-1 · 1 step · 4.2k tokens")
        terminal.type("/agents steer explore-1 look at order.py, too\r")
        terminal.wait("gets it after its present step")
        terminal.type("/agents\r")
        terminal.wait("Which agent?")
        terminal.wait("▸ reviewer-2")
        terminal.type("review\r")
        terminal.wait("reviewer-2: what now?")
        terminal.type("stop\r")
        terminal.wait("One has ended, one was stopped.")
        at_rest(terminal)
        terminal.type("/agents\r")
        terminal.wait("› ✔ explore-1")
        terminal.wait("✗ reviewer-2")
        terminal.wait("done · ")
        terminal.wait("│ Where is the total?" if rows > 16 else "2 of 2")
        assert max(map(len, terminal.text.split("\n"))) <= columns
        cleared(terminal, "\x1b")
        assert max(map(len, terminal.text.split("\n"))) <= columns
        ask(terminal, "/agents nobody", "no agent 'nobody' was started here")
        terminal.type("/agents explore-1\r")
        terminal.wait("PgUp PgDn")
        terminal.wait("The sum is made here.")
        assert max(map(len, terminal.text.split("\n"))) <= columns
        terminal.type("q")
        at_rest(terminal)
        leave(terminal)


def test_a_question_of_an_agent_reaches_the_person(shop: Path) -> None:
    child = [{"calls": [call("ask", question="Gross or net?")]}, report("Net it is.")]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Which total?")]},
        {"calls": [call("ask_user", question="Gross or net?")], "expect": ["agent-question"]},
        {
            "calls": [call("delegate", child="explore-1", task="net")],
            "expect": ["The user answers: net, please"],
        },
        {"text": "It is net.", "expect": ["Net it is."]},
    ]
    with talk_with_agents(shop, turns, {"explore": child}) as terminal:
        at_rest(terminal)
        terminal.type("which total?\r")
        terminal.wait("│ Gross or net?")
        terminal.type("net, please\r")
        terminal.wait("It is net.")
        at_rest(terminal)
        leave(terminal)
    texts = [path.read_text() for path in logs()]
    assert any('"name":"ask_user"' in text for text in texts)


def test_a_killed_session_tells_of_its_agents_and_goes_on_with_them(shop: Path) -> None:
    slow = [{"calls": [call("read", path="cart.py")]}, report("It is in the cart.", delay=3)]
    turns = [
        {"calls": [call("delegate", agent="explore", task="Where is the total?")]},
        {
            "calls": [call("delegate", child="explore-1")],
            "expect": ["explore-1 was cut off at: Where is the total?"],
        },
        {"text": "Found.", "expect": ["It is in the cart."]},
    ]
    with talk_with_agents(shop, turns, {"explore": slow}) as terminal:
        at_rest(terminal)
        terminal.type("where?\r")
        terminal.wait("▸ explore-1 · 1 step")
        os.kill(terminal.pid, signal.SIGKILL)
    begun = {path.parent.name: json.loads(path.read_text().splitlines()[0]) for path in logs()}
    [session] = [name for name, first in begun.items() if first.get("started_by") is None]
    with talk_with_agents(shop, turns, {"explore": slow}) as terminal:
        at_rest(terminal)
        terminal.type(f"/resume {session}\r")
        terminal.wait("cut off with this session: child")
        terminal.wait("It was cut off. Go on with it?")
        terminal.type("g")
        terminal.wait("Found.")
        at_rest(terminal)
        terminal.type("/agents\r")
        terminal.wait("› ✔ explore-1")
        cleared(terminal, "\x1b")
        leave(terminal)


def test_a_model_that_follows_the_offline_engine_may_start_agents(shop: Path) -> None:
    look = script(shop.parent, [report("It is in the cart.")], "explore.json")
    turns = [
        {
            "calls": [call("delegate", agent="explore", task="Where?")],
            "expect": [{"tools": ["delegate", "ask_user"]}],
        },
        {"text": "Found.", "expect": ["It is in the cart."]},
    ]
    model = script(shop.parent, turns)
    env = environment({"PATCHWRIGHT_AGENTS__MODELS": f"{{explore = {json.dumps(look)}}}"})
    with Terminal([*PATCHWRIGHT, "--model", "offline"], cwd=shop, env=env) as terminal:
        at_rest(terminal)
        ask(terminal, f"/model {model}", "model: scripted")
        terminal.type("let an agent look where\r")
        terminal.wait("Found.")
        at_rest(terminal)
        leave(terminal)
