"""/agents: the agents of the session, to choose from; open a transcript, steer or stop one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cli.tui.commands.choices.agent_choices import pick_agent
from cli.tui.commands.choices.transcripts import show_child
from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text
from tools.core.text import format_count

if TYPE_CHECKING:
    from agent.team.activity import AgentRow
    from agent.team.team import Team
    from cli.tui.conversation.conversation import Conversation

NONE = "no agent was started in this session; a model does so with the tool delegate, or when you ask it to"


async def agents(chat: Conversation, argument: str) -> None:
    """Show all agents, the transcript of one, or steer or stop one."""
    team = _find_team(chat)
    word, _, rest = argument.partition(" ")
    name, _, text = rest.strip().partition(" ")
    if team is None:
        chat.show_message(NONE)
    elif word == "stop" and name:
        team.stop(name)
        chat.show_message(f"stopping {name}")
    elif word == "steer" and name:
        if not text.strip():
            raise UserError(
                Fault.USAGE, f"nothing to tell {name}", "Like this: /agents steer explore-1 look at io.py"
            )
        team.steer(name, text.strip())
        chat.show_message(f"{name} gets it after its present step")
    elif argument:
        row = _get_row(team, argument)
        await show_child(chat, row.child, row.name)
    elif chat.front.redraws and team.activity.rows:
        await pick_agent(chat, team)
    else:
        _show_tree(chat, team)


def _show_tree(chat: Conversation, team: Team) -> None:
    from agent.team.board.findings_board import format_finding
    from cli.output.lines.agent_rows import format_tree
    from cli.output.style.paint import make_painter

    terminal = chat.front.terminal
    paint = make_painter(colour=terminal.colour)
    lines = format_tree(team.activity, terminal.columns - 1, paint, unicode=terminal.unicode)
    if count := team.activity.findings:
        lines.append(f"{format_count(count, 'finding')} shared among them, the last ones:")
        lines += [f"  {sanitize_text(format_finding(each))}" for each in team.activity.last_findings]
    chat.view.show_note("\n".join(lines) if lines else NONE)


def _find_team(chat: Conversation) -> Team | None:
    from agent.team.attach import find_session_team

    attached = find_session_team(chat.runtime)
    return attached.team if attached is not None and attached.is_used else None


def _get_row(team: Team, name: str) -> AgentRow:
    row = team.activity.find_row(name)
    if row is None:
        known = ", ".join(each.name for each in team.activity.rows.values())
        raise UserError(Fault.USAGE, f"no agent {name!r} was started here", f"Agents: {known}.")
    return row


def _list_agents(chat: Conversation) -> Iterator[tuple[str, str]]:
    from cli.output.lines.agent_rows import describe_state

    team = _find_team(chat)
    for row in team.activity.rows.values() if team is not None else ():
        yield row.name, f"{describe_state(row)}: {row.task[:60]}"


COMMANDS = (
    Command(
        name="/agents",
        argument="[NAME]",
        help="agents at work: cost and last line",
        details="/agents NAME: what one did and said\n"
        "/agents steer NAME TEXT: tell it something\n"
        "/agents stop NAME: end its work; its report says so",
        run=agents,
        choices=_list_agents,
    ),
)
