"""The mode and the approval of a running session change at the user's word, and only so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.events import End, Signal
from agent.mode_switch import read_current_settings, switch_approval, switch_mode
from agent.model.scripted.scripted_model import ScriptedModel
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime
from sandbox.access_settings import AccessSettings
from sandbox.errors import UserError
from sandbox.guards.workspace_inventory import open_inventory
from sandbox.policy.decision import Approval, Mode
from sandbox.policy.rules import Rules, parse_rule
from tests.support.cli import call, git, script

WRITE = {"calls": [call("write", path="a.txt", content="a\n")]}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATCHWRIGHT_HOME", str(tmp_path / "own"))
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def session(root: Path, mode: Mode, turns: list[dict[str, object]]) -> Runtime:
    settings = SessionSettings(
        model=script(root.parent, turns),
        access=AccessSettings(mode=mode, approval=Approval.NEVER, sandbox="unconfined"),
        commit="turn",
    )
    return assemble_runtime(settings, SessionRequest(working=root), Home.from_environment())


def told(runtime: Runtime) -> set[str]:
    return {tool.name for tool in runtime.projection.build_request().tools}


async def turns(runtime: Runtime, change: Mode) -> list[End]:
    """A turn, the change, and another turn."""
    try:
        first = await runtime.run_turn("write it")
        await switch_mode(runtime, change)
        return [first, await runtime.run_turn("write it")]
    finally:
        await runtime.close()


def test_a_session_that_could_only_read_gets_hands(root: Path) -> None:
    runtime = session(root, Mode.READ_ONLY, [WRITE, {"text": "no"}, WRITE, {"text": "yes"}])
    heard: list[str] = []
    runtime.session.subscribe(lambda event: heard.append(event.detail) if isinstance(event, Signal) else None)
    before = told(runtime)
    assert runtime.committer.when == "never"
    asyncio.run(turns(runtime, Mode.WORKSPACE))
    assert (root / "a.txt").read_text() == "a\n"
    assert before < told(runtime)
    assert {"edit", "write"} <= told(runtime) - before
    assert "mode: workspace" in heard
    assert runtime.snapshots is not None
    assert runtime.committer.when == "turn"


def test_a_session_that_wrote_can_be_made_to_read_only(root: Path) -> None:
    runtime = session(root, Mode.WORKSPACE, [{"text": "wait"}, WRITE, {"text": "I may not"}])
    before = runtime.projection.build_request().tools
    _, last = asyncio.run(turns(runtime, Mode.READ_ONLY))
    assert last.outcome == "denied"
    assert not (root / "a.txt").exists()
    assert runtime.workspace.mode is Mode.READ_ONLY
    assert runtime.projection.build_request().tools == before, "the beginning of the requests stays"


def test_the_approval_decides_from_the_next_action_on(root: Path) -> None:
    guarded = {"calls": [call("write", path=".envrc", content="x")]}
    asked: list[str] = []

    class Person:
        async def ask(self, tool: str, effect: object, question: object) -> object:
            from sandbox.policy.decision import Decision

            asked.append(tool)
            return Decision(verdict="allow", reason="fine")

    runtime = session(root, Mode.WORKSPACE, [guarded, {"text": "no"}, guarded, {"text": "yes"}])
    runtime.loop.gateway.approver = Person()  # type: ignore[assignment]

    async def story() -> None:
        await runtime.run_turn("write it")
        assert not (root / ".envrc").exists()
        switch_approval(runtime, Approval.AUTO)
        await runtime.run_turn("write it")
        await runtime.close()

    asyncio.run(story())
    assert asked[0] == "write"
    assert (root / ".envrc").exists()


def test_a_session_like_this_one_is_allowed_what_this_one_is_now(root: Path) -> None:
    runtime = session(root, Mode.WORKSPACE, [{"text": "hi"}])
    other = script(root.parent, [{"text": "other"}], "other.json")

    async def story() -> SessionSettings:
        await switch_mode(runtime, Mode.READ_ONLY)
        switch_approval(runtime, Approval.ASK)
        runtime.policy.rules = runtime.policy.rules.with_allowed_commands(("git add *",))
        await runtime.switch_model(ScriptedModel(other.removeprefix("scripted:")))
        return read_current_settings(runtime)

    now = asyncio.run(story())
    assert (now.access.mode, now.access.approval, now.model) == (Mode.READ_ONLY, Approval.ASK, other)
    assert [str(rule) for rule in now.access.rules.rules] == ["shell(git add *)"]
    assert now.tools is runtime.settings.tools
    asyncio.run(runtime.close())
    again = assemble_runtime(now, SessionRequest(working=root), Home.from_environment())
    assert "write" not in told(again)
    asyncio.run(again.close())


def test_a_mode_that_cannot_be_had_changes_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = session(root, Mode.READ_ONLY, [{"text": "hi"}])
    monkeypatch.setattr("agent.capabilities.os.access", lambda path, how: False)
    with pytest.raises(UserError, match="cannot be written"):
        asyncio.run(switch_mode(runtime, Mode.WORKSPACE))
    assert runtime.policy.mode is runtime.workspace.mode is Mode.READ_ONLY
    asyncio.run(runtime.close())


def test_the_users_rules_say_which_git_folders_commands_may_make(root: Path) -> None:
    rules = Rules((parse_rule("edit(build/**/.git)", "allow"),))
    settings = SessionSettings(
        model=script(root.parent, [{"text": "done"}]),
        access=AccessSettings(mode=Mode.WORKSPACE, sandbox="unconfined", rules=rules),
    )
    runtime = assemble_runtime(settings, SessionRequest(working=root), Home.from_environment())
    asyncio.run(runtime.close())
    inventory = open_inventory(root)
    assert inventory.allows_repository("build/a/.git")
    assert not inventory.allows_repository("src/a/.git")
