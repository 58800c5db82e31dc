"""The user's own slash commands: Markdown files in the folder `commands` next to the settings, and skills.

`commands/explain.md` is `/explain`; its text becomes the prompt, with `$ARGUMENTS` replaced by the text typed after
the name. The first line, if it is a heading, is the help text. A repository cannot define such commands.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from sandbox.fs.regular_file import read_start
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.extension.skills.session_skills import SessionSkills
    from agent.extension.skills.skill_file import Skill
    from cli.tui.conversation.conversation import Conversation

LONGEST = 100_000
"""Maximum bytes read from a command file."""


def load_custom_commands(chat: Conversation) -> list[Command]:
    """Return all custom commands, sorted by file name, then the skills; unreadable files are skipped."""
    found = []
    home = chat.home
    for path in sorted((home.config / "commands").glob("*.md")):
        name = path.stem.lower()
        if name.replace("-", "").replace("_", "").isalnum() and (text := _read_command_file(path)).strip():
            found.append(_make_command(f"/{name}", text))
    names = {each.name for each in found}
    return [*found, *(each for each in _load_skill_commands(chat.runtime.skills) if each.name not in names)]


def _load_skill_commands(skills: SessionSkills | None) -> Iterator[Command]:
    if skills is not None:
        for each in skills.catalog.skills.values():
            if each.is_command:
                yield _make_skill_command(skills, each)


def _make_skill_command(skills: SessionSkills, skill: Skill) -> Command:
    async def run(chat: Conversation, argument: str) -> None:
        await chat.run_turn(skills.render_prompt(skill, argument), shown="")

    return Command(
        name=f"/{skill.name}",
        argument=sanitize_text(skill.argument_hint) or "[TEXT]",
        help=sanitize_text(f"skill: {skill.description}")[:100],
        details=sanitize_text(skill.description),
        run=run,
        while_working=False,
    )


def _make_command(name: str, text: str) -> Command:
    first, _, rest = text.lstrip().partition("\n")
    title = first.lstrip("#").strip() if first.startswith("#") else ""
    body = rest.strip() if title else text.strip()

    async def run(chat: Conversation, argument: str) -> None:
        prompt = body.replace("$ARGUMENTS", argument)
        if argument and "$ARGUMENTS" not in body:
            prompt = f"{prompt}\n\n{argument}"
        await chat.run_turn(prompt)

    return Command(
        name=name,
        argument="[TEXT]",
        help=sanitize_text(title or f"your own: {first[:50]}"),
        details=sanitize_text(body),
        run=run,
        while_working=False,
    )


def _read_command_file(path: Path) -> str:
    return (read_start(path, LONGEST) or b"").decode("utf-8", "replace")
