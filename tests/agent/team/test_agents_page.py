"""The examples of docs/agents.md: its agent file, its session, its settings, its tables."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.session_settings import TeamSettings
from agent.team.definitions.agent_file import FIELDS, MODES, parse_agent_file
from agent.team.definitions.builtin_agents import BUILT_IN
from agent.team.session_team import SessionTeam
from agent.turn.runtime import Runtime
from cli.settings.layers import load_settings
from tests.support.child_sessions import settings_for
from tests.support.cli import CHECKOUT, call
from tests.support.team_sessions import play_team, team_settings
from tools.builtin_tools import NAMES

PAGE = (CHECKOUT / "docs/agents.md").read_text("utf-8")


def read_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_agent_file_is_one() -> None:
    text, _ = read_blocks("markdown")
    agent = parse_agent_file(text, "migrator.md", "x", NAMES)
    assert (agent.name, agent.max_turns, agent.warnings) == ("migrator", 30, ())


@pytest.mark.slow
def test_the_agent_in_a_worktree_is_merged(shop: Path, tmp_path: Path) -> None:
    folder = Home.from_environment().config / "agents"
    folder.mkdir(parents=True)
    (folder / "renamer.md").write_text(read_blocks("markdown")[1])
    rename = {"calls": [call("edit", path="cart.py", old="RATE", new="TAX", all=True)]}
    turns = [
        {"calls": [call("delegate", agent="renamer", task="RATE becomes TAX")]},
        {"text": "Renamed.", "expect": ["Merged into your files: cart.py."]},
    ]

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Rename RATE")
        assert end.summary.startswith("Renamed."), end.summary
        assert "RATE" not in (shop / "cart.py").read_text()

    play_team(shop, team_settings(tmp_path, turns, {"renamer": [rename, {"text": "Done."}]}), story)


@pytest.mark.slow
def test_the_session_runs_as_it_is_written(shop: Path, tmp_path: Path) -> None:
    parent, child = read_blocks("yaml")
    (tmp_path / "session.yaml").write_text(parent)
    (tmp_path / "explore.yaml").write_text(child)
    settings = replace(
        settings_for(f"scripted:{tmp_path / 'session.yaml'}"),
        agents=TeamSettings(models={"explore": f"scripted:{tmp_path / 'explore.yaml'}"}),
    )

    async def story(runtime: Runtime, team: SessionTeam) -> None:
        end = await runtime.run_turn("Where is the total?")
        assert (end.outcome, end.summary) == ("done", "The total is computed in cart.py, line 2.")

    play_team(shop, settings, story)


def test_the_settings_are_the_defaults() -> None:
    home = Home.from_environment()
    home.config.mkdir(parents=True)
    (home.config / "settings.toml").write_text(read_blocks("toml")[0])
    found = load_settings(home, None, {}, {}).session.agents
    assert found == TeamSettings(models={"explore": "openai/gpt-5.4-mini"})


def test_the_tables_name_every_agent_field_and_mode() -> None:
    for each in BUILT_IN:
        assert f"| `{each.name}` |" in PAGE
    for field in FIELDS:
        assert re.search(rf"^\| .*`{field}`.* \|", PAGE, re.MULTILINE), field
    modes = set(MODES) - {"default", "read-only", "workspace", "full"}
    assert [each for each in modes if f"`{each}`" not in PAGE] == []
