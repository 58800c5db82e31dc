"""/requirements: see and edit the requirements of the turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def requirements(chat: Conversation, argument: str) -> None:
    """Show the requirements with their results, add one, or drop one."""
    from agent.verify.optional_checks import attach_requirements, find_requirements
    from agent.verify.requirement import list_results
    from cli.output.lines.check_lines import format_requirements
    from sandbox.extensions import load_extension

    verifier = find_requirements(chat.runtime)
    word, _, rest = argument.partition(" ")
    if word == "add" and rest.strip():
        verifier = verifier or attach_requirements(chat.runtime, None, is_trusted=False)
        verifier.add(load_extension("checks", "requirement_text")(rest.strip()))
    elif word == "drop" and rest.strip():
        if verifier is None or not verifier.drop(rest.strip()):
            raise UserError(Fault.USAGE, f"no requirement {rest.strip()!r}", "/requirements lists them.")
    elif argument:
        raise UserError(Fault.USAGE, f"{argument!r} is not understood", "/requirements [add TEXT | drop ID]")
    if verifier is None or not verifier.requirements:
        chat.show_message("no requirements; add one: /requirements add TEXT", "dim")
        return
    rows = format_requirements(
        "checked" if verifier.results else "known",
        list_results(verifier.requirements, verifier.results),
        unicode=chat.front.terminal.unicode,
    )
    chat.show_message("\n".join(row for row, _ in rows))


COMMANDS = (
    Command(
        name="/requirements",
        argument="[add TEXT | drop ID]",
        help="what the task requires, and what is met",
        details="They are checked at the end of the turn. Those of a prompt are found with the setting\n"
        "verify.requirements; what you add counts for the running turn, or the next one.",
        run=requirements,
    ),
)
