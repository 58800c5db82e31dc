"""Agents of the session as rows of a picker; Enter opens, steers or stops one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.tui.commands.choices.transcripts import show_child
from cli.tui.frontend import Choice
from sandbox.sanitize import sanitize_text
from tools.core.text import format_count

if TYPE_CHECKING:
    from agent.team.activity import AgentRow
    from agent.team.team import Team
    from cli.tui.conversation.conversation import Conversation

MOST_SHOWN = 5
"""Shared findings in a preview."""


async def pick_agent(chat: Conversation, team: Team) -> None:
    """Let the user choose an agent, and what to do with it."""
    from cli.output.lines.agent_rows import format_heads

    rows = [row for _, row in team.activity.list_tree()]
    heads = format_heads(team.activity, unicode=chat.front.terminal.unicode)
    choices = [
        Choice(label=name, about=about, preview=lambda row=row: _preview_agent(team, row))  # type: ignore[misc]
        for (name, about), row in zip(heads, rows, strict=True)
    ]
    chosen = await chat.front.pick("Which agent?", choices)
    if chosen is None:
        return
    row = rows[chosen]
    if row.state == "working" and not await _offer_actions(chat, team, row):
        return
    await show_child(chat, row.child, row.name)


async def _offer_actions(chat: Conversation, team: Team, row: AgentRow) -> bool:
    """Offer what can be done with an agent at work; return whether its transcript is wanted."""
    actions = [
        Choice(label="open", about="what it did and said"),
        Choice(label="steer", about="tell it something"),
        Choice(label="stop", about="its report says so"),
    ]
    chosen = await chat.front.pick(f"{row.name}: what now?", actions)
    if chosen == 1:
        chat.front.restore_input(f"/agents steer {row.name} ")
    elif chosen == 2:
        team.stop(row.name)
        chat.show_message(f"stopping {row.name}")
    return chosen == 0


def _preview_agent(team: Team, row: AgentRow) -> str:
    lines = [row.task.partition("\n")[0], *([row.last] if row.last else [])]
    if found := team.board.findings:
        lines.append(f"{format_count(len(found), 'finding')} shared among all agents, the last ones:")
        lines += [each.format_line() for each in found[-MOST_SHOWN:]]
    return "\n".join(sanitize_text(" ".join(each.split())) for each in lines)
