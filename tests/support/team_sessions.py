"""A session with agents, whose models follow scripts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.events import MergeEvent
from agent.session.log import read_events
from agent.session_settings import SessionSettings, TeamSettings
from agent.team.attach import attach_team
from agent.team.session_team import SessionTeam
from agent.turn.runtime import Runtime
from cli.output.lines.agent_rows import format_tree
from cli.output.style.paint import make_painter
from tests.support.child_sessions import settings_for
from tests.support.cli import CHECKOUT, script
from tests.support.sessions import play_session

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

    async def run(runtime: Runtime) -> Any:
        team = attach_team(runtime, Home.from_environment())
        assert team is not None
        return await story(runtime, team)

    return play_session(shop, settings, run, **request)


def write_agent(name: str, *lines: str) -> None:
    """Write an agent of the user. lines: of its front matter"""
    folder = Home.from_environment().config / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(
        "\n".join(["---", f"name: {name}", "description: d", *lines, "---", "Do it."])
    )


def read_merges(runtime: Runtime) -> list[tuple[str, list[str]]]:
    events = read_events(runtime.session.folder)
    return [(each.outcome, each.paths) for each in events if isinstance(each, MergeEvent)]


def show_agents(team: SessionTeam) -> str:
    return "\n".join(format_tree(team.team.activity, 200, make_painter(colour=False), unicode=False))


PROGRAM = """
import asyncio, os, signal, sys
sys.path.insert(0, {checkout!r})
from pathlib import Path
from tests.support.team_sessions import play_team, team_settings

async def story(runtime, team):
    def kill(event):
        if {moment}:
            print(runtime.session.id, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    runtime.session.subscribe(kill)
    await runtime.run_turn("Do it")

play_team(Path({shop!r}), team_settings(Path({folder!r}), {turns!r}, {agents!r}), story)
"""


def play_until_killed(
    shop: Path, tmp_path: Path, moment: str, turns: Sequence[Any], agents: Mapping[str, Any]
) -> str:
    """Play a session that kill -9 ends at an event; return its id. moment: an expression about the event"""
    program = PROGRAM.format(
        moment=moment,
        checkout=str(CHECKOUT),
        shop=str(shop),
        folder=str(tmp_path),
        turns=turns,
        agents=agents,
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, env=dict(os.environ), capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    return done.stdout.strip()
