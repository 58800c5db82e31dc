"""What an agent gets: no more than the session that starts it has, and told by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.events import ObservationEvent, SessionStart
from agent.session.log import read_events
from agent.session.undo import Timeline, undo_last_turn
from agent.team.session_team import SessionTeam
from agent.turn.runtime import Runtime
from sandbox.policy.decision import Mode
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.cli import call
from tests.support.team_sessions import play_team, team_settings, write_agent


def delegate(
    shop: Path,
    folder: Path,
    agent: str,
    turns: Sequence[dict[str, Any]] = ({"text": "done"},),
    **settings: Any,
) -> tuple[ObservationEvent, list[Any]]:
    """Let a session start one agent; return what came back, and the events of the agent's session."""

    async def story(runtime: Runtime, team: SessionTeam) -> tuple[ObservationEvent, list[Any]]:
        end = await runtime.run_turn("Do it")
        assert end.outcome in ("done", "no-test-runner", "tests-fail"), end.summary
        seen = next(
            each for each in read_events(runtime.session.folder) if isinstance(each, ObservationEvent)
        )
        child = seen.data.get("session")
        log = list(read_events(runtime.session.folder.parent / child)) if child else []
        return seen, log

    parent = [{"calls": [call("delegate", agent=agent, task="Do it")]}, {"text": "over"}]
    found: tuple[ObservationEvent, list[Any]] = play_team(
        shop, team_settings(folder, parent, {agent: turns}, **settings), story
    )
    return found


@pytest.mark.parametrize(
    ("lines", "settings", "told"),
    [
        (
            ["tools: Read, rename"],
            {},
            "asks for the tool rename, but the session that starts it does not have it",
        ),
        (["tools: mcp__tickets"], {}, "asks for the tool mcp__tickets, but"),
        (["permissionMode: bypassPermissions"], {}, "asks for mode full (permissionMode), but"),
        (["tools: Edit"], {"mode": Mode.READ_ONLY}, "asks for the tool Edit, but"),
        (["permissionMode: acceptEdits"], {"mode": Mode.READ_ONLY}, "asks for mode workspace"),
    ],
)
def test_an_agent_that_asks_for_more_is_refused_by_name(
    shop: Path, tmp_path: Path, lines: list[str], settings: dict[str, Any], told: str
) -> None:
    write_agent("greedy", *lines)
    seen, log = delegate(shop, tmp_path, "greedy", **settings)
    assert seen.failed
    assert f"agent 'greedy' {told}" in seen.text
    assert log == []


@pytest.mark.slow
def test_an_agent_has_the_tools_of_its_file_only(shop: Path, tmp_path: Path) -> None:
    write_agent("looker", "tools: Read, Bash(git log:*), Bash(git status)")
    turns = [
        {"calls": [call("write", path="made.txt", content="x")], "expect": [{"tools": ["read", "shell"]}]},
        {
            "calls": [call("shell", command="git log --oneline; touch made.txt")],
            "expect": ["there is no tool"],
        },
        {
            "calls": [call("shell", command="git log --oneline")],
            "expect": ["has only Bash(git log:*), Bash(git"],
        },
        {"calls": [call("python", code="open('made.txt', 'w')")], "expect": ["Start"]},
        {"text": "done", "expect": ["there is no tool"]},
    ]
    seen, log = delegate(shop, tmp_path, "looker", turns, sandbox="auto")
    assert seen.data["outcome"] == "done", seen.text
    assert not (shop / "made.txt").exists()
    assert isinstance(log[0], SessionStart)
    assert log[0].mode == "read-only"


def test_an_agent_does_without_what_its_file_denies(shop: Path, tmp_path: Path) -> None:
    write_agent("careful", "disallowedTools: Edit, Write, Bash(rm:*)", "permissionMode: acceptEdits")
    turns = [
        {"calls": [call("shell", command="echo hi && rm cart.py")]},
        {"calls": [call("write", path="made.txt", content="x")], "expect": ["does without Bash(rm:*)"]},
        {"text": "done", "expect": ["there is no tool"]},
    ]
    seen, _ = delegate(shop, tmp_path, "careful", turns)
    assert seen.data["outcome"] == "done", seen.text
    assert (shop / "cart.py").exists()


@pytest.mark.slow
def test_a_limit_to_paths_counts_for_links_and_dots(shop: Path, tmp_path: Path) -> None:
    (shop / "docs").mkdir()
    (shop / "docs/a.md").write_text("fine\n")
    (shop / "docs/link.md").symlink_to("../cart.py")
    write_agent("reader", "tools: Read(docs/**)")
    turns = [
        {"calls": [call("read", path="docs/link.md")]},
        {"calls": [call("read", path="docs/../cart.py")], "expect": ["has only Read(docs/**)"]},
        {"calls": [call("read", path="docs/a.md")], "expect": ["has only Read(docs/**)"]},
        {"text": "done", "expect": ["fine"]},
    ]
    seen, _ = delegate(shop, tmp_path, "reader", turns)
    assert seen.data["outcome"] == "done", seen.text


@pytest.mark.slow
def test_what_a_writer_changes_is_the_sessions_own(shop: Path, tmp_path: Path) -> None:
    """Also when it is asked again: it is undone with the turn, and is one of the turn's files."""
    write_agent("writer", "tools: Write")
    turns = [
        {"calls": [call("write", path="made.txt", content="x\n")]},
        {"text": "written"},
        {"calls": [call("write", path="more.txt", content="y\n")]},
        {"text": "written, too"},
    ]
    parent = [
        {"calls": [call("delegate", agent="writer", task="Write it")] * 2},
        {"calls": [call("delegate", child="writer-1", task="And more")]},
        {"text": "over"},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Do it")
        assert {"made.txt", "more.txt"} <= set(end.files)
        assert (shop / "made.txt").read_text() == "x\n"
        snapshots = Snapshots(shop, Home.from_environment().get_project_folder(shop) / "snapshots")
        undo_last_turn(snapshots, Timeline.from_events(read_events(runtime.session.folder)))
        assert not (shop / "made.txt").exists()
        assert not (shop / "more.txt").exists()

    play_team(shop, team_settings(tmp_path, parent, {"writer": turns}), story)


@pytest.mark.slow
def test_a_tester_sees_interfaces_and_never_the_code(shop: Path, tmp_path: Path) -> None:
    (shop / "notes.md").symlink_to("cart.py")
    tests = [{"path": "test_more.py", "content": "def test_more():\n    assert True\n"}]
    hidden = {"not_contains": "secret_sum"}
    turns = [
        {
            "calls": [call("read", path="cart.py")],
            "expect": [{"tools": ["read", "list", "run_tests", "report"]}],
        },
        {
            "calls": [call("search", pattern="secret"), call("shell", command="cat cart.py")],
            "expect": ["def total(self, rate: float=RATE) -> float", "Return the total with tax.", hidden],
        },
        {"calls": [call("read", path="notes.md")], "expect": ["there is no tool 'search'", hidden]},
        {"calls": [call("code", action="show", target="Cart.total")], "expect": ["its interface", hidden]},
        {"calls": [call("read", path="test_cart.py")], "expect": ["there is no tool 'code'", hidden]},
        {"calls": [call("read", path="REQUIREMENTS.md")], "expect": ["assert Cart([5]).total(0) == 5"]},
        {"calls": [call("report", answer="One test.", tests=[{"path": "t.py", "content": "def ("}])]},
        {"calls": [call("report", answer="One test.", tests=tests)], "expect": ["t.py is no Python"]},
    ]
    seen, _ = delegate(shop, tmp_path, "tester", turns)
    assert seen.data["outcome"] == "done", seen.text
    assert list(seen.data["tests"]) == ["test_more.py"]
    assert "test_more.py: out:" in seen.text
    assert "secret_sum" not in seen.text


def test_an_agent_has_its_skills_from_the_start(shop: Path, tmp_path: Path) -> None:
    folder = Home.from_environment().config / "skills/greet"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: greet\ndescription: d\n---\nSay hello to $ARGUMENTS.")
    write_agent("host", "tools: Read, Skill", "skills: greet, nobody")
    _, log = delegate(shop, tmp_path, "host")
    [start] = [each for each in log if isinstance(each, SessionStart)]
    assert "Say hello to ." in start.system
    assert "name the skill 'nobody', which there is not" in start.system
