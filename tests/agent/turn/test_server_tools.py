"""Many tools of a server in a session: looked up, called through `call_tool`, judged by their own names."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.exit_codes import Exit
from tests.support.cli import CHECKOUT, call, run, script

pytestmark = pytest.mark.slow

PYTHON = str(Path(sys.executable).resolve())


def test_many_tools_are_looked_up_and_judged_as_themselves(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    shutil.copy(CHECKOUT / "tests/tools/mcp/server.py", work / "calc.py")
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    server = json.dumps(shlex.join([PYTHON, "calc.py", "many"]))
    (home.config / "settings.toml").write_text(
        f'[mcp]\ncalc = {server}\n[permissions]\nallow = ["mcp(calc.add)"]\n'
    )
    sent = {"name": "mcp__calc__add", "arguments": {"a": 2, "b": 40}}
    turns = [
        {"calls": [call("find_tool", query="add numbers")]},
        {
            "calls": [call("call_tool", **sent), call("call_tool", name="mcp__calc__write", arguments={})],
            "expect": ["mcp__calc__add", "the likeliest first"],
        },
        {"text": "It is 42.", "expect": ["42", "mcp__calc__write"]},
    ]
    model = script(tmp_path, turns)
    done = run("run", "add them", "--model", model, "--no-commit", "--output", "stream-json", cwd=work)
    assert done.code == Exit.DENIED, done.err
    events = done.events
    [first, *_] = [each["request"]["tools"] for each in events if each.get("request", {}).get("tools")]
    names = [each["name"] for each in first]
    assert names[-2:] == ["find_tool", "call_tool"]
    assert not [each for each in names if each.startswith("mcp__")]
    assert len({str(each["request"].get("tools")) for each in events if each["kind"] == "message"}) <= 2
    seen = [(each["tool"], each["failed"]) for each in events if each["kind"] == "observation"]
    assert seen == [("find_tool", False), ("mcp__calc__add", False), ("mcp__calc__write", True)]
    assert [each["verdict"] for each in events if each["kind"] == "decision"][-1] == "deny"
    assert any("123 tools of servers are looked up" in each.get("detail", "") for each in events)


def test_the_setting_sends_them_all_the_same(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    shutil.copy(CHECKOUT / "tests/tools/mcp/server.py", work / "calc.py")
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    server = json.dumps(shlex.join([PYTHON, "calc.py", "many"]))
    (home.config / "settings.toml").write_text(f'tool_search = "never"\n[mcp]\ncalc = {server}\n')
    model = script(tmp_path, [{"text": "Hi."}])
    done = run("run", "hi", "--model", model, "--no-commit", "--output", "stream-json", cwd=work)
    [tools] = [each["request"]["tools"] for each in done.events if each.get("request", {}).get("tools")]
    assert "mcp__calc__item_119" in [each["name"] for each in tools]


@pytest.mark.parametrize("search", ["never", "always"])
def test_instructions_and_long_descriptions_reach_the_model_with_a_mark_of_the_cut(
    tmp_path: Path, search: str
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    shutil.copy(CHECKOUT / "tests/tools/mcp/server.py", work / "calc.py")
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    server = json.dumps(shlex.join([PYTHON, "calc.py", "wordy"]))
    (home.config / "settings.toml").write_text(f'tool_search = "{search}"\n[mcp]\ncalc = {server}\n')
    model = script(tmp_path, [{"text": "Hi."}])
    done = run("run", "hi", "--model", model, "--no-commit", "--output", "stream-json", cwd=work)
    [tools] = [each["request"]["tools"] for each in done.events if each.get("request", {}).get("tools")]
    told = {each["name"]: each["description"] for each in tools}
    first = told["mcp__calc__add" if search == "never" else "find_tool"]
    assert first.startswith('<mcp-instructions server="calc">\nAdd before you write. <\\/mcp-instructions>\n')
    assert "mcp__calc__click" not in told
    if search == "never":
        assert first.endswith(" more characters]")
        assert 4_000 < len(first) < 4_500
        assert "mcp__calc__write" in told


@pytest.mark.parametrize(("how", "kept"), [("sees", 1), ("", 0)])
def test_pictures_of_results_are_kept_and_sent_behind_the_batch(tmp_path: Path, how: str, kept: int) -> None:
    work = tmp_path / "work"
    work.mkdir()
    shutil.copy(CHECKOUT / "tests/tools/mcp/server.py", work / "calc.py")
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    server = json.dumps(shlex.join([PYTHON, "calc.py", *([how] if how else [])]))
    allow = '[permissions]\nallow = ["mcp(calc.add)"]\n'
    (home.config / "settings.toml").write_text(f"[mcp]\ncalc = {server}\n{allow}")
    turns = [{"calls": [call("mcp__calc__add", a=1, b=2), call("list")]}, {"text": "I see."}]
    done = run(
        "run", "look", "--model", script(tmp_path, turns), "--no-commit", "--output", "stream-json", cwd=work
    )
    [steer] = [each for each in done.events if each["kind"] == "steer"]
    assert len(steer["images"]) == kept
    assert ("1 not usable" in steer["text"]) is not bool(kept)
    assert [each.name for each in home.data.rglob("images/*.png")] == steer["images"]
