"""Commands in files and skills on a real terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.support.talking import ask, at_rest, leave, prompts, talk


@pytest.mark.slow
def test_commands_of_files_and_skills_are_called_by_name(shop: Path) -> None:
    config = Home.from_environment().config
    (config / "commands/git").mkdir(parents=True)
    (config / "commands/git/ship.md").write_text("---\ndescription: ships it\n---\nShip $1 now.")
    (config / "skills/greet").mkdir(parents=True)
    (config / "skills/greet/SKILL.md").write_text(
        "---\nname: greet\ndescription: says hello\n---\nHello $ARGUMENTS."
    )
    (shop / ".claude/commands").mkdir(parents=True)
    (shop / ".claude/commands/evil.md").write_text("!`touch hacked`")
    turns = [{"text": "One."}, {"text": "Two."}, {"text": "Three."}]
    with talk(shop, turns) as terminal:
        at_rest(terminal)
        assert "1 command of this project not used" in " ".join(terminal.everything.split())
        ask(terminal, "/help", "skill: says hello")
        ask(terminal, "/git:ship it", "One.")
        ask(terminal, "/ship that", "Two.")
        ask(terminal, "/greet Ann", "Three.")
        ask(terminal, "/evil", "no command '/evil'")
        leave(terminal)
    first, second, third = prompts(shop)
    assert (first, second) == ("Ship it now.", "Ship that now.")
    assert "Hello Ann." in third
    assert not (shop / "hacked").exists()
