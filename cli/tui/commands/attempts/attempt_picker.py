"""Attempts of this session as rows of a picker, below each other as they went on; Enter offers what can be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.output.attempts.attempt_rows import AttemptRow, describe_row
from cli.tui.commands.attempts.attempt_actions import compare_attempts, load_rows, show_attempt, stop_attempt
from cli.tui.commands.attempts.taking import use_attempt
from cli.tui.frontend import Choice

if TYPE_CHECKING:
    from agent.strategy.person.attempt_tree import AttemptTree
    from cli.tui.conversation.conversation import Conversation


async def show_attempts(chat: Conversation) -> None:
    """Let the user choose among the attempts, then what to do with the chosen one."""
    tree, rows = await load_rows(chat)
    chosen = await chat.front.pick("Which attempt?", [_make_choice(each) for each in rows])
    if chosen is not None:
        await _offer_actions(chat, tree, rows, rows[chosen])


async def _offer_actions(
    chat: Conversation, tree: AttemptTree, rows: list[AttemptRow], row: AttemptRow
) -> None:
    number, is_running = row.number, not tree.has_ended and chat.runtime.is_turn_running
    offered = {"show": "its verdicts, report and change", "transcript": "all that its session did"}
    if len(rows) > 1:
        offered["compare"] = "its files with those of another attempt"
    if row.files and not row.chosen and not is_running:
        offered["use"] = "take it in place of the one in your files"
    if is_running:
        offered["guide"] = "tell it, and those that go on from it, something"
        offered["stop"] = "end it; nothing more goes on from it"
    names = list(offered)
    title = f"Attempt {number}"
    picked = await chat.front.pick(title, [Choice(label=name, about=offered[name]) for name in names])
    match names[picked] if picked is not None else "":
        case "show":
            await show_attempt(chat, number)
        case "transcript":
            from cli.tui.commands.choices.transcripts import show_child

            await show_child(chat, row.session, f"attempt {number}")
        case "compare":
            others = [each for each in rows if each.number != number]
            with_ = await chat.front.pick("With which one?", [_make_choice(each) for each in others])
            if with_ is not None:
                await compare_attempts(chat, number, others[with_].number)
        case "use":
            await use_attempt(chat, number)
        case "guide":
            chat.front.restore_input(f"/attempts guide {number} ")
        case "stop":
            await stop_attempt(chat, number)


def _make_choice(row: AttemptRow) -> Choice:
    indent = "  " * row.depth
    return Choice(
        label=f"{indent}attempt {row.number}", about=" · ".join(describe_row(row))[:200], current=row.chosen
    )
