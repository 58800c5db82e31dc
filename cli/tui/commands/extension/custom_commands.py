"""Slash commands whose text becomes the prompt: files of the user and of a trusted project, skills, MCP servers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.extension.extension_files import has_commands
from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.extension.commands.command_file import PromptCommand
    from agent.extension.skills.session_skills import SessionSkills
    from agent.extension.skills.skill_file import Skill
    from cli.tui.conversation.conversation import Conversation
    from tools.mcp.server_tools import McpServers

LONGEST_HELP = 100
"""Characters of a description beside a command's name."""


def load_custom_commands(chat: Conversation) -> list[Command]:
    """Return the commands of files, then the skills; what cannot be used is left out."""
    found: dict[str, Command] = {}
    root = chat.runtime.workspace.root
    if has_commands(chat.home, root):
        from agent.extension.commands.command_catalog import load_commands

        for each in load_commands(chat.home, root).commands.values():
            if each.is_command:
                found[each.name] = _make_file_command(each)
    for command in _load_skill_commands(chat.runtime.skills):
        found.setdefault(command.name[1:], command)
    for command in _list_server_prompts(chat.runtime.mcp):
        found.setdefault(command.name[1:], command)
    return list(found.values())


def find_custom_command(word: str, commands: list[Command]) -> Command | None:
    """Return a command by its name, or by the last part of it (`/commit` for `/git:commit`) if that is clear."""
    if word.startswith("/mcp__"):
        return _make_server_prompt(word, "[ARGUMENTS]", "prompt of an MCP server")
    by_name = {each.name: each for each in commands}
    ends = [each for each in commands if f"/{each.name.rpartition(':')[2]}" == word]
    return by_name.get(word) or (ends[0] if len(ends) == 1 else None)


def _load_skill_commands(skills: SessionSkills | None) -> Iterator[Command]:
    if skills is not None:
        for each in skills.catalog.skills.values():
            if each.is_command:
                yield _make_skill_command(skills, each)


def _list_server_prompts(servers: McpServers | None) -> Iterator[Command]:
    """Yield the prompts of MCP servers that were started."""
    if servers is None:
        return
    from agent.extension.servers.prompt_calls import list_prompts

    for each in list_prompts(servers):
        help_text = each.prompt.description or f"prompt of the MCP server {each.server.name}"
        yield _make_server_prompt(f"/{each.name}", each.argument_hint, help_text)


def _make_server_prompt(name: str, argument: str, help_text: str) -> Command:
    """Return the command of a server's prompt, which is looked up when it is called: the server may not run yet."""

    async def run(chat: Conversation, argument: str) -> None:
        from agent.extension.commands.command_prompt import expand_call

        called = await expand_call(chat.runtime, chat.home, f"{name} {argument}")
        if called is None:
            raise UserError(
                Fault.USAGE, f"no prompt {name[1:]!r} of an MCP server", "/mcp lists the servers."
            )
        await chat.run_turn(called.prompt)

    return Command(
        name=name,
        argument=sanitize_text(argument),
        help=_format_help(help_text),
        details=sanitize_text(help_text),
        run=run,
        while_working=False,
    )


def _make_skill_command(skills: SessionSkills, skill: Skill) -> Command:
    async def run(chat: Conversation, argument: str) -> None:
        await chat.run_turn(skills.render_prompt(skill, argument), shown="")

    return Command(
        name=f"/{skill.name}",
        argument=sanitize_text(skill.argument_hint) or "[TEXT]",
        help=_format_help(f"skill: {skill.description}"),
        details=sanitize_text(skill.description),
        run=run,
        while_working=False,
    )


def _make_file_command(command: PromptCommand) -> Command:
    async def run(chat: Conversation, argument: str) -> None:
        from agent.extension.commands.command_prompt import choose_model, expand_command, place_command

        placed = place_command(command, chat.runtime, chat.home)
        prompt = await expand_command(placed, argument, chat.runtime.run_harness_action)
        if model := choose_model(command, chat.runtime):
            async with chat.use_model(model):
                await chat.run_turn(prompt)
        else:
            await chat.run_turn(prompt)

    return Command(
        name=f"/{command.name}",
        argument=sanitize_text(command.argument_hint) or "[TEXT]",
        help=_format_help(command.description),
        details=sanitize_text(command.template),
        run=run,
        while_working=False,
    )


def _format_help(text: str) -> str:
    return sanitize_text(text).replace("\n", " ")[:LONGEST_HELP]
