"""/mcp on a real terminal, and a session that calls a server's tools."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.support.cli import CHECKOUT, call
from tests.support.talking import SIZES, ask, at_rest, below, cleared, leave, log_of, talk

pytestmark = pytest.mark.slow

PYTHON = str(Path(sys.executable).resolve())
"""Not that of an environment which may lie in /tmp, of which a sandbox has its own."""


def test_servers_are_listed_asked_about_and_started_again(shop: Path) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    shutil.copy(CHECKOUT / "tests/tools/mcp/server.py", shop / "calc.py")
    server = json.dumps(shlex.join([PYTHON, "calc.py"]))
    settings = f"[mcp]\ncalc = {server}\nbroken = 'no-such-program'\n"
    (home.config / "settings.toml").write_text(settings)
    turns = [
        {"calls": [call("mcp__calc__add", a=1, b=1)]},
        {"calls": [call("mcp__calc__add", a=2, b=40)], "expect": ["the user refused it"]},
        {"text": "It is 42.", "expect": ["<mcp-result server=", "42"]},
    ]
    with talk(shop, turns, columns=40, rows=15) as terminal:
        at_rest(terminal)
        for columns, rows in SIZES:
            terminal.resize(columns, rows)
            ask(terminal, "/mcp", "● calc: running, 3 tools")
            assert "✗ broken: the program cannot be" in terminal.text
            ask(terminal, "/mcp calc", "add  Add two numbers.")
            ask(terminal, "/mcp nonsense", "no MCP server 'nonsense'")
            assert max(map(len, terminal.text.split("\n"))) <= columns
        terminal.type("add them\r")
        terminal.wait('│ add {"a": 1, "b": 1}')
        terminal.wait("why: only the server calc knows what that does")
        terminal.type("n")
        terminal.wait('│ add {"a": 2, "b": 40}')  # another call is another question
        terminal.type("y")
        terminal.wait("It is 42.")
        at_rest(terminal)
        assert "mcp server broken: the program cannot" in terminal.everything
        ask(terminal, "/mcp restart calc", "● calc: running, 3 tools")
        terminal.type("/mcp ca")
        terminal.wait(lambda: "running" in below(terminal, "/mcp ca"))
        cleared(terminal)
        leave(terminal)
    offered = [event["request"]["tools"] for event in log_of(shop) if event.get("request", {}).get("tools")]
    assert "mcp__calc__write" in {each["name"] for each in offered[0]}  # from the first request on
    decided = [event["verdict"] for event in log_of(shop) if event["kind"] == "decision"]
    assert decided == ["deny", "allow"]


def test_resources_and_prompts_are_completed_and_used(shop: Path) -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    shutil.copy(CHECKOUT / "tests/tools/mcp/server.py", shop / "calc.py")
    server = json.dumps(shlex.join([PYTHON, "calc.py", "whole"]))
    (home.config / "settings.toml").write_text(f"[mcp]\ncalc = {server}\n")
    turns = [
        {
            "text": "It is 1.08.",
            "expect": ['<mcp-resource server="calc" uri="rate://eur">', "1.08 today"],
        },
        {"text": "Two and two.", "expect": ["Explain 2 + 2."]},
    ]
    with talk(shop, turns) as terminal:
        at_rest(terminal)
        ask(terminal, "/mcp", "● calc: running, 3 tools, 1 resource, 1 prompt")
        ask(terminal, "/mcp calc", "@calc:rate://eur  rate of the euro")
        assert "/mcp__calc__explain SUM  Explain a sum" in terminal.text
        terminal.type("what is @calc:ra")
        terminal.wait(lambda: "rate of the euro" in below(terminal, "what is @calc:ra"))
        terminal.type("te://eur\r")
        terminal.wait("It is 1.08.")
        at_rest(terminal)
        terminal.type("/mcp__calc")
        terminal.wait(lambda: "Explain a sum" in below(terminal, "/mcp__calc"))
        terminal.type("__explain '2 + 2'\r")
        terminal.wait("Two and two.")
        at_rest(terminal)
        leave(terminal)


def test_without_servers_it_says_how_to_name_one(shop: Path) -> None:
    with talk(shop, [{"text": "Ok."}]) as terminal:
        at_rest(terminal)
        ask(terminal, "/mcp", "no MCP server is named")
        leave(terminal)
