"""/tests, /repair, /localize, /init and /memory: commands that need no model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.extensions import load_extension
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def tests(chat: Conversation, argument: str) -> None:
    """Run the tests now."""
    await _run_tool(chat, "run_tests", argument)


async def localize(chat: Conversation, argument: str) -> None:
    """Show the suspicious lines by fault localization from failing tests."""
    await _run_tool(chat, "localize", argument)


async def repair(chat: Conversation, argument: str) -> None:
    """Run a turn of the offline engine, whatever the session's model."""
    async with chat.use_model("offline"):
        await chat.run_turn(f"make the failing tests pass {argument}".strip())


async def init(chat: Conversation, argument: str) -> None:
    """Draft AGENTS.md."""
    write_draft = load_extension("drafts", "agents_file")
    path = await asyncio.to_thread(write_draft, chat.runtime.workspace.root, force=False)
    chat.show_message(f"{path.name} is a draft: read it, correct it, fill in what is marked, and commit it")


async def memory(chat: Conversation, argument: str) -> None:
    """Show the project's instructions that the model gets."""
    from agent.context.project_instructions import read_project_instructions

    root = chat.runtime.workspace.root
    found = await asyncio.to_thread(read_project_instructions, root, root)
    if not found.files:
        chat.show_message("no AGENTS.md or CLAUDE.md here: /init drafts one, #NOTE adds a line to it")
        return
    lines = []
    for path, text in found.files.items():
        lines += [
            f"{sanitize_text(path)} ({len(text.splitlines())} lines)",
            *(f"  {line}" for line in text.splitlines()[:20]),
        ]
    lines += [f"not read: {sanitize_text(each)}" for each in found.left]
    chat.show_message("\n".join([*lines, "#NOTE adds a line; a new session reads all of it"]))


async def _run_tool(chat: Conversation, tool: str, argument: str) -> None:
    if chat.runtime.toolbox.get(tool) is None:
        raise UserError(Fault.USAGE, f"this session has no tool {tool!r}")
    chat.front.show_activity(tool)
    await chat.runtime.run_person_action(tool, {"targets": argument.split()} if argument else {})


COMMANDS = (
    Command(name="/tests", argument="[TARGET…]", help="run the tests", run=tests, while_working=False),
    Command(
        name="/localize",
        argument="[TARGET…]",
        help="the lines that failing tests point at",
        run=localize,
        while_working=False,
    ),
    Command(
        name="/repair",
        argument="",
        help="let the offline engine repair what fails",
        details="One turn without a model; it can be undone like any other.",
        run=repair,
        while_working=False,
    ),
    Command(name="/init", argument="", help="draft an AGENTS.md", run=init, while_working=False),
    Command(name="/memory", argument="", help="the project's instructions for agents", run=memory),
)
