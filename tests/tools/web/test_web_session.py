"""The web tools in whole sessions: when they are offered, who is asked, what a model sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.children.children import Children
from agent.events import ActionEvent, MessageEvent, ObservationEvent
from agent.session.log import read_events
from agent.turn.runtime import Runtime
from sandbox.policy.rules import Rules, parse_rule
from tests.support.child_sessions import Says, play, settings_for
from tests.support.cli import CHECKOUT, call, git, script
from tests.tools.web.web_server import Handler, serve
from tools.core.tool_settings import ToolSettings
from tools.web.web_settings import WebSettings


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


async def _go(runtime: Runtime, children: Children) -> Path:
    await runtime.run_turn("Go")
    return runtime.session.folder


def run(
    shop: Path, turns: list[Any], person: Says, tools: ToolSettings, *rules: str, **access: Any
) -> list[Any]:
    from dataclasses import replace

    allowed = Rules(tuple(parse_rule(each, "allow") for each in rules))
    settings = settings_for(script(shop.parent, turns), **{"approval": None, "rules": allowed, **access})
    settings = replace(settings, tools=tools)
    return list(read_events(play(shop, settings, _go, approver=person)))


def test_the_tools_are_offered_where_the_user_says_so(shop: Path) -> None:
    person = Says("allow")
    none = [{"text": "Done.", "expect": [{"not_contains": "web_"}]}]

    def offered(*rules: str, **web: Any) -> set[str]:
        events = run(shop, [{"text": "Done."}], person, ToolSettings(web=WebSettings(**web)), *rules)
        names: set[str] = set()
        for each in events:
            request = each.request if isinstance(each, MessageEvent) else None
            names |= {tool["name"] for tool in (request or {}).get("tools", ())}
        return {each for each in names if each.startswith("web_")}

    run(shop, none, person, ToolSettings())
    assert offered() == set()
    assert offered("network(docs.example)") == {"web_fetch"}
    assert offered(fetch="on", search="brave") == {"web_fetch", "web_search"}


def test_a_person_is_asked_about_each_host_and_the_page_is_data(shop: Path) -> None:
    with serve() as host:
        web = WebSettings(fetch="on", search="searxng", search_url=f"http://{host}")
        turns = [
            {"calls": [call("web_search", query="shop")]},
            {
                "expect": ["<web-results", "https://docs.example/shop"],
                "calls": [call("WebFetch", url=f"http://{host}/page", prompt="how to install?")],
            },
            {
                "expect": ["<web-page url=", "# Install"],
                "calls": [call("web_fetch", url="http://evil.example/x")],
            },
            {"expect": ["the user refused it"], "text": "Done."},
        ]

        class Person(Says):
            async def ask(self, tool: str, effect: Any, question: Any) -> Any:
                self.verdict = "deny" if effect.hosts == ("evil.example",) else "allow"
                assert effect.call == "http://evil.example/x"  # the whole address is shown
                return await super().ask(tool, effect, question)

        person = Person("allow")
        events = run(shop, turns, person, ToolSettings(web=web), f"network({host})")
        assert person.asked == ["it asks evil.example for a page"]
        kinds = [each.effect for each in events if isinstance(each, ActionEvent)]
        assert kinds == ["network", "network", "network"]
        pages = [each for each in events if isinstance(each, ObservationEvent) and "web-page" in each.text]
        assert len(pages) == 1
        assert len(Handler.seen) == 2


def test_a_server_can_search(shop: Path) -> None:
    import shlex
    import sys

    (shop / "search.py").write_text((CHECKOUT / "tests/tools/mcp/server.py").read_text())
    python = str(Path(sys.executable).resolve())
    tools = ToolSettings(
        mcp={"calc": shlex.join([python, "search.py", "tells"])},
        web=WebSettings(search="mcp", search_tool="calc.add"),
    )
    turns = [
        {"calls": [call("web_search", query="shop")]},
        {"expect": ["<web-results", "PATH"], "text": "Done."},
    ]
    person = Says("allow")
    run(shop, turns, person, tools, sandbox="auto")
    assert person.asked == ["a server searches"]
