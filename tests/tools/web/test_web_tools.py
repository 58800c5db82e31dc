"""Pages and searches: what is fetched from where, how it reads, and what bounds it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.capabilities import build_tool_specs
from sandbox.network.hosts import is_listed, parse_host_rules
from sandbox.policy.decision import Approval, Mode, Policy
from sandbox.policy.effects import Effect
from sandbox.policy.rules import Rules, parse_rule
from sandbox.process.command import Command
from tests.tools.web.web_server import Handler, serve
from tests.tools.workspaces import call, refused, workspace
from tools.core.registry import Toolbox
from tools.core.tool_settings import ToolSettings
from tools.core.workspace import Workspace
from tools.web import page_request, page_text
from tools.web.page_request import PageRequest, RequestFailed, name_host, parse_address
from tools.web.web_settings import WebSettings
from tools.web.web_tools import web_fetch, web_search


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    with serve() as found:
        yield found


def open_workspace(folder: Path, *hosts: str, web: WebSettings | None = None) -> Workspace:
    rules = Rules(tuple(parse_rule(f"network({each})", "allow") for each in hosts))
    return workspace(folder, rules=rules, settings=ToolSettings(web=web or WebSettings()))


def test_a_page_is_read_as_markdown_and_framed_as_data(host: str, tmp_path: Path) -> None:
    at = open_workspace(tmp_path, host)
    seen = call(web_fetch, at, url=f"http://{host}/to//page")
    assert seen.text.startswith(f'<web-page url="http://{host}/page">\n# Guide\n\n# Install')
    assert "`pip install shop`" in seen.text
    assert f"[more](http://{host}/more?x=1)" in seen.text
    assert "| a | b |" in seen.text
    assert "line 1\nline 2" in seen.text
    assert "alert" not in seen.text
    assert "menu" not in seen.text
    assert seen.text.count("</web-page>") == 1  # the page cannot close its own frame
    assert seen.data["status"] == 200


def test_texts_pages_and_papers_are_read(host: str, tmp_path: Path) -> None:
    at = open_workspace(tmp_path, host)
    first = call(web_fetch, at, url=f"http://{host}/lines")
    assert "line 1 x" in first.text
    assert first.text.endswith("[… it goes on: line=208 …]") or "it goes on: line=" in first.text
    number = int(first.text.rpartition("line=")[2].split()[0])
    more = call(web_fetch, at, url=f"http://{host}/lines", line=number)
    assert f">\nline {number} x" in more.text
    assert "caf\u00e9" in call(web_fetch, at, url=f"http://{host}/latin").text
    assert "Hello from a paper" in call(web_fetch, at, url=f"http://{host}/paper.pdf").text
    gone = call(web_fetch, at, url=f"http://{host}/gone")
    assert (gone.failed, "status=404" in gone.text, "Not here" in gone.text) == (True, True, True)
    assert "no text but image/png" in refused(web_fetch, at, url=f"http://{host}/picture")


def test_a_page_of_another_host_is_asked_for_anew(host: str, tmp_path: Path) -> None:
    at = open_workspace(tmp_path, host)
    moved = call(web_fetch, at, url=f"http://{host}/to/http://169.254.169.254/latest")
    assert "has moved to http://169.254.169.254/latest" in moved.text
    moved = call(web_fetch, at, url=f"http://{host}/to/http://127.0.0.1:1/x")  # another port is another host
    assert "has moved to http://127.0.0.1:1/x" in moved.text
    assert "more than 5 redirects" in refused(web_fetch, at, url=f"http://{host}/loop")


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://a.example/",
        "http://",
        "http://u:p@a.example/",
        "http://a.example/\r\nX: y",
        "x",
    ],
)
def test_what_is_no_web_address_is_refused(url: str, tmp_path: Path) -> None:
    at = open_workspace(tmp_path)
    assert "web_fetch: " in refused(web_fetch, at, url=url)
    assert web_fetch.effect_of({"url": url}, at).kind == "none"


def test_private_addresses_are_refused_however_they_are_written(host: str, tmp_path: Path) -> None:
    port = host.partition(":")[2]
    at = open_workspace(tmp_path, "*", "127.0.0.1")  # neither names this host with its port
    before = len(Handler.seen)
    for name in ("127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"):
        told = refused(web_fetch, at, url=f"http://{name}:{port}/page")
        assert "no public address" in told or "could not be resolved" in told, (name, told)
    assert len(Handler.seen) == before


def test_a_name_is_connected_to_where_it_was_judged(host: str) -> None:
    port = int(host.partition(":")[2])
    answers = [["127.0.0.1"], ["93.184.216.34"]]  # the second answer is never asked for

    def rebind(name: str, asked: int) -> list[str]:
        return answers.pop(0)

    request = PageRequest(address=f"http://rebind.example:{port}/page", may_be_private=False, resolve=rebind)
    with pytest.raises(RequestFailed, match=r"leads to 127\.0\.0\.1"):
        asyncio.run(request.send())
    assert answers == [["93.184.216.34"]]
    allowed = PageRequest(
        address=f"http://rebind.example:{port}/x",
        may_be_private=True,
        resolve=lambda name, asked: ["127.0.0.1"],
    )
    assert asyncio.run(allowed.send()).content == b"ok"
    assert Handler.seen[-1][1]["host"] == f"rebind.example:{port}"
    mixed = PageRequest(
        address=f"http://mixed.example:{port}/x",
        may_be_private=False,
        resolve=lambda name, asked: ["93.184.216.34", "10.0.0.1"],
    )
    with pytest.raises(RequestFailed, match=r"leads to 10\.0\.0\.1"):
        asyncio.run(mixed.send())


def test_an_answer_is_bounded_in_size_and_time(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = open_workspace(tmp_path, host)
    monkeypatch.setattr(page_request, "MOST_BYTES", 200_000)
    monkeypatch.setattr(page_text, "SECONDS", 1.0)
    bomb = call(web_fetch, at, url=f"http://{host}/bomb")
    assert "longer than what was read" in bomb.text
    assert len(bomb.text) < 201_000
    monkeypatch.setattr(page_request, "TIMEOUT", 0.5)
    assert "no answer within 0.5 s" in refused(web_fetch, at, url=f"http://{host}/silent")
    monkeypatch.setattr(page_request, "TIMEOUT", 20.0)
    monkeypatch.setattr(page_request, "MOST_BYTES", 10_000_000)
    assert "could not be read within 1 s" in refused(web_fetch, at, url=f"http://{host}/busy")
    monkeypatch.setattr(page_text, "SECONDS", 20.0)
    deep = refused(web_fetch, at, url=f"http://{host}/deep")
    assert "its HTML could not be read: RecursionError" in deep


def test_the_policy_asks_about_each_host(tmp_path: Path) -> None:
    at = open_workspace(tmp_path)
    effect = web_fetch.effect_of({"url": "https://Docs.Example.:443/x"}, at)
    assert (effect.kind, effect.hosts) == ("network", ("docs.example",))
    assert web_fetch.effect_of({"url": "https://docs.example:8443/"}, at).hosts == ("docs.example:8443",)
    listed = parse_host_rules(["docs.example", "*.pypi.org:8443"])

    def decide(
        mode: Mode, approval: Approval = Approval.AUTO, rules: Rules = at.rules, name: str = ""
    ) -> str:
        policy = Policy(mode, approval, rules, lambda host: is_listed(host, listed, ("127.0.0.1:8080",)))
        given = (
            Effect(kind="network", hosts=(name,))
            if name
            else web_fetch.effect_of({"url": "https://a.b/"}, at)
        )
        return policy.decide(given, confined=True).verdict

    assert decide(Mode.WORKSPACE) == "ask"
    assert decide(Mode.WORKSPACE, Approval.NEVER) == "deny"
    assert decide(Mode.READ_ONLY, name="docs.example") == "deny"
    assert decide(Mode.FULL) == "allow"
    for name in ("docs.example", "a.pypi.org:8443", "127.0.0.1:8080"):
        assert decide(Mode.WORKSPACE, name=name) == "allow"
    for name in ("docs.example:8443", "pypi.org", "127.0.0.1"):
        assert decide(Mode.WORKSPACE, name=name) == "ask"
    assert decide(Mode.WORKSPACE, rules=Rules((parse_rule("network(a.b)", "allow"),))) == "allow"
    assert (
        decide(Mode.WORKSPACE, rules=Rules((parse_rule("network(*)", "deny"),)), name="docs.example")
        == "deny"
    )


def test_the_tools_are_offered_by_settings_alone_and_are_short() -> None:
    some = Rules((parse_rule("network(a.b)", "allow"),))
    assert not WebSettings(fetch="auto").offers_fetch(Rules(), [])
    assert not WebSettings(fetch="auto").offers_fetch(Rules((parse_rule("network(a.b)", "deny"),)), [])
    assert WebSettings(fetch="auto").offers_fetch(some, [])
    assert WebSettings(fetch="auto").offers_fetch(Rules(), ["pypi.org"])
    assert WebSettings(fetch="on").offers_fetch(Rules(), [])
    assert not WebSettings(fetch="off").offers_fetch(some, ["pypi.org"])
    for spec in build_tool_specs(Toolbox([web_fetch, web_search])):
        text = json.dumps({"name": spec.name, "description": spec.description, "parameters": spec.parameters})
        assert len(text) / 4 <= 120  # tokens, roughly


def test_engines_are_asked_in_their_own_way(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = f"http://{host}"

    def search(engine: str, url: str) -> str:
        at = open_workspace(tmp_path, web=WebSettings(search=engine, search_url=url))  # type: ignore[arg-type]
        assert web_search.effect_of({"query": "q"}, at).hosts == (host,)
        return call(web_search, at, query="shop & co").text

    found = search("searxng", f"{base}/")
    assert found.startswith('<web-results query="shop & co">\n1. Shop docs\n   https://docs.example/shop\n')
    assert "   All about shops\n2. Shop docs" in found
    assert "no address" not in found
    assert Handler.seen[-1][0] == "/search?q=shop+%26+co&format=json"

    at = open_workspace(tmp_path, web=WebSettings(search="brave", search_url=f"{base}/brave"))
    assert "has to set BRAVE_API_KEY" in refused(web_search, at, query="q")
    monkeypatch.setenv("BRAVE_API_KEY", "brave-key-1")
    assert "By Brave" in search("brave", f"{base}/brave")
    assert Handler.seen[-1][1]["x-subscription-token"] == "brave-key-1"
    shown = asyncio.run(at.sandbox.run(_print_environment(at)))
    assert "brave-key-1" not in shown.stdout.text()  # the key never enters the sandbox

    monkeypatch.setenv("TAVILY_API_KEY", "tavily-key-1")
    assert "shop & co" in search("tavily", f"{base}/tavily")
    assert Handler.seen[-1][1]["authorization"] == "Bearer tavily-key-1"
    away = open_workspace(tmp_path, web=WebSettings(search="tavily", search_url=f"{base}/to/{base}/tavily"))
    assert "status 302" in refused(web_search, away, query="q")  # a key follows no redirect
    broken = open_workspace(tmp_path, web=WebSettings(search="searxng", search_url=f"{base}/page/x"))
    assert "must allow the format json" in refused(web_search, broken, query="q")


def _print_environment(at: Workspace) -> Command:
    return Command(argv=("env",), cwd=at.root)


def test_hosts_are_named_as_rules_name_them() -> None:
    assert name_host(parse_address("http://A.Example./x")) == "a.example"
    assert name_host(parse_address("http://a.example:443/")) == "a.example:443"
    assert name_host(parse_address("https://[::1]/")) == "::1"
