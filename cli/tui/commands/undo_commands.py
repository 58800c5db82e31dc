"""/undo, /redo and /rewind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.session.undo import Timeline, UndoOutcome
    from cli.tui.conversation.conversation import Conversation
    from sandbox.snapshots.workspace_snapshots import Snapshots


async def undo(chat: Conversation, argument: str) -> None:
    """Undo the last turn that changed files; the user's later edits are kept, or the undo is refused."""
    from agent.session.undo import undo_last_turn

    await _apply_action(chat, undo_last_turn)


async def redo(chat: Conversation, argument: str) -> None:
    """Restore the changes that the last /undo or /rewind took back."""
    from agent.session.undo import redo_last_undo

    await _apply_action(chat, redo_last_undo)


async def rewind(chat: Conversation, argument: str) -> None:
    """List the steps that changed files, or rewind to before one of them."""
    from agent.session.undo import rewind_conversation, rewind_steps
    from cli.commands.sessions.undo_report import FORGOTTEN, format_steps, parse_step_number

    timeline = chat.history.timeline
    step, _, what = argument.partition(" ")
    if not step:
        chat.view.show_note(sanitize_text("\n".join(format_steps(timeline))))
        return
    if what not in ("", "files", "conversation", "both"):
        raise UserError(Fault.USAGE, f"rewind {what!r}", "It is one of files, conversation, both.")
    number = parse_step_number(step, timeline)
    if what == "conversation":
        rewind_conversation(chat.runtime.session, timeline, number)
        chat.show_message(FORGOTTEN)
        return
    act = lambda snapshots, timeline: rewind_steps(snapshots, timeline, number)  # noqa: E731
    await _apply_action(chat, act, conversation=what == "both")


async def _apply_action(
    chat: Conversation, act: Callable[[Snapshots, Timeline], UndoOutcome], *, conversation: bool = False
) -> None:
    from agent.session.undo import log_outcome
    from cli.commands.sessions.undo_report import describe_uncovered, format_outcome

    outcome = await asyncio.to_thread(act, _require_snapshots(chat), chat.history.timeline)
    log_outcome(chat.runtime.session, outcome, conversation=conversation)
    if not outcome.steps:
        chat.show_message(f"nothing to {outcome.action}: no turn of this session has changed a file since")
    else:
        chat.show_message("\n".join(format_outcome(outcome)), "yellow" if outcome.clashes else None)
    if outcome.action != "redo":
        runtime = chat.runtime
        for line in await asyncio.to_thread(
            describe_uncovered, runtime.workspace.root, runtime.session.folder, outcome.paths
        ):
            chat.show_message(sanitize_text(line), "yellow")


def _require_snapshots(chat: Conversation) -> Snapshots:
    from sandbox.snapshots.workspace_snapshots import Snapshots

    found = chat.runtime.snapshots
    if not isinstance(found, Snapshots):
        raise UserError(Fault.USAGE, "this session is read-only: it takes no snapshots to go back to")
    return found


COMMANDS = (
    Command(
        name="/undo", argument="", help="take back the last turn's changes", run=undo, while_working=False
    ),
    Command(name="/redo", argument="", help="bring back what /undo took", run=redo, while_working=False),
    Command(
        name="/rewind",
        argument="[STEP]",
        help="list the steps, or undo from one on",
        details="/rewind STEP [files|conversation|both]: what goes back; files if nothing is said",
        run=rewind,
        while_working=False,
    ),
)
