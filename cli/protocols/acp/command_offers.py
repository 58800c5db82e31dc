"""Commands that a client offers its user: those of files, and skills."""

from __future__ import annotations

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    UnstructuredCommandInput,
)

from agent.app_dirs import Home
from agent.extension.extension_files import has_commands
from agent.turn.runtime import Runtime
from sandbox.sanitize import sanitize_text

LONGEST_DESCRIPTION = 200


def list_commands(runtime: Runtime, home: Home) -> AvailableCommandsUpdate:
    """Return the commands of a session; `/name` and what is typed behind it calls one."""
    found: dict[str, AvailableCommand] = {}
    root = runtime.workspace.root
    if has_commands(home, root):
        from agent.extension.commands.command_catalog import load_commands

        for each in load_commands(home, root).commands.values():
            if each.is_command:
                found[each.name] = _make_command(each.name, each.description, each.argument_hint)
    if runtime.skills is not None:
        for skill in runtime.skills.catalog.skills.values():
            if skill.is_command:
                offered = _make_command(skill.name, f"skill: {skill.description}", skill.argument_hint)
                found.setdefault(skill.name, offered)
    if runtime.mcp is not None:
        from agent.extension.servers.prompt_calls import list_prompts

        for asked in list_prompts(runtime.mcp):
            offered = _make_command(asked.name, asked.prompt.description, asked.argument_hint)
            found.setdefault(asked.name, offered)
    return AvailableCommandsUpdate(
        session_update="available_commands_update", available_commands=list(found.values())
    )


def _make_command(name: str, description: str, hint: str) -> AvailableCommand:
    words = sanitize_text(description).replace("\n", " ")[:LONGEST_DESCRIPTION]
    typed = UnstructuredCommandInput(hint=sanitize_text(hint) or "text")
    return AvailableCommand(name=name, description=words or name, input=AvailableCommandInput(typed))
