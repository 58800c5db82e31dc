"""A session with agents, whose models follow scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from agent.team.attach import SessionTeam, attach_team
from agent.team.team_settings import TeamSettings
from agent.turn.runtime import Runtime
from tests.support.child_sessions import settings_for
from tests.support.cli import script

Turns = Sequence[Mapping[str, Any]]

Story = Callable[[Runtime, SessionTeam], Awaitable[Any]]


def team_settings(folder: Path, turns: Turns, agents: Mapping[str, Turns], **more: Any) -> SessionSettings:
    """Settings of a session whose model follows `turns`, and whose agents follow theirs."""
    access = {name: more.pop(name) for name in ("mode", "sandbox", "rules", "approval") if name in more}
    models = {name: script(folder, given, f"{name}.json") for name, given in agents.items()}
    settings = settings_for(script(folder, turns, "parent.json"), **access)
    return replace(settings, agents=TeamSettings(models=models, **more))


def play_team(shop: Path, settings: SessionSettings, story: Story, **request: Any) -> Any:
    """Open a session with agents, tell the story, close it."""

    async def run() -> Any:
        home = Home.from_environment()
        runtime = assemble_runtime(settings, SessionRequest(working=shop, **request), home)
        team = attach_team(runtime, home)
        assert team is not None
        try:
            return await story(runtime, team)
        finally:
            await runtime.close()

    return asyncio.run(run())


def write_agent(name: str, *lines: str) -> None:
    """Write an agent of the user. lines: of its front matter"""
    folder = Home.from_environment().config / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(
        "\n".join(["---", f"name: {name}", "description: d", *lines, "---", "Do it."])
    )
