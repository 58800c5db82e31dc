"""/repair, /localize, /init and /memory: commands that need no model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.extensions import load_extension
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def localize(chat: Conversation, argument: str) -> None:
    """Show the suspicious lines by fault localization from failing tests."""
    if chat.runtime.toolbox.get("localize") is None:
        raise UserError(Fault.USAGE, "this session has no tool 'localize'")
    chat.front.show_activity("localize")
    await chat.runtime.run_harness_action("localize", {"targets": argument.split()} if argument else {})


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
    """Show the project's instructions that the model gets, and what is remembered; or do what the argument says."""
    root = chat.runtime.workspace.root
    answer = load_extension("memory", "answer")
    remembered = await asyncio.to_thread(answer, chat.home, root, argument)
    if argument:
        chat.show_message("\n".join(remembered))
        return
    from agent.context.project_instructions import read_project_instructions

    found = await asyncio.to_thread(read_project_instructions, root, root)
    if not found.files:
        chat.show_message(
            "\n".join(
                ["no AGENTS.md or CLAUDE.md here: /init drafts one, #NOTE adds a line to it", *remembered]
            )
        )
        return
    lines = []
    for path, text in found.files.items():
        lines += [
            f"{sanitize_text(path)} ({len(text.splitlines())} lines)",
            *(f"  {line}" for line in text.splitlines()[:20]),
        ]
    lines += [f"not read: {sanitize_text(each)}" for each in found.left]
    chat.show_message("\n".join([*lines, "#NOTE adds a line; a new session reads all of it", *remembered]))


COMMANDS = (
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
    Command(
        name="/memory",
        argument="[show ID | why ID | forget ID…]",
        help="instructions for agents, and what is remembered here",
        details="Lessons and cases of earlier sessions, each with its origin. docs/memory.md",
        run=memory,
    ),
)
