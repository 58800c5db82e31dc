"""Rewind to an earlier prompt: the conversation, the files, or both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.events import Prompt
from cli.tui.frontend import Choice
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


async def offer_rewind(chat: Conversation) -> None:
    """Let the user choose a prompt and the scope of the rewind: conversation, files, or both."""
    points = chat.runtime.session.list_prompts()
    if not points:
        chat.show_message("nothing to go back to yet", "dim")
        return
    rows = [
        Choice(label=_format_first_line(point.text), preview=_make_preview(point))
        for point in reversed(points)
    ]
    chosen = await chat.front.pick("Go back to before which prompt?", rows)
    if chosen is None:
        return
    point = points[len(points) - 1 - chosen]
    steps = chat.history.timeline.list_steps_since(point)
    what = 1
    if steps:
        undone = (
            "1 step that changed files is"
            if len(steps) == 1
            else f"{len(steps)} steps that changed files are"
        )
        picked = await chat.front.pick(
            "What is to be as it was?",
            [
                Choice(label="both", about=f"{undone} undone"),
                Choice(label="the conversation", about="files stay as they are"),
                Choice(label="the files", about="the conversation goes on from here"),
            ],
        )
        if picked is None:
            return
        what = picked
    if what in (0, 2) and not await _rewind_files(
        chat, len(chat.history.timeline.active_steps) - len(steps) + 1
    ):
        return
    if what in (0, 1):
        _rewind_conversation(chat, point)


async def _rewind_files(chat: Conversation, first: int) -> bool:
    """Undo the steps from number `first` on; return False if none could be, or there are no snapshots."""
    from agent.session.undo import rewind_steps
    from cli.commands.sessions.undo_report import describe_uncovered, format_outcome
    from sandbox.snapshots.workspace_snapshots import Snapshots

    snapshots, timeline = chat.runtime.snapshots, chat.history.timeline
    if not isinstance(snapshots, Snapshots):
        chat.show_message("this session is read-only: it takes no snapshots to go back to", "yellow")
        return False
    outcome = await asyncio.to_thread(rewind_steps, snapshots, timeline, first)
    if outcome.event is not None:
        chat.runtime.session.append(outcome.event)
    chat.show_message("\n".join(format_outcome(outcome)), "yellow" if outcome.clashes else None)
    for line in await asyncio.to_thread(
        describe_uncovered, chat.runtime.workspace.root, chat.runtime.session.folder, outcome.paths
    ):
        chat.show_message(sanitize_text(line), "yellow")
    return outcome.event is not None or not outcome.clashes


def _rewind_conversation(chat: Conversation, point: Prompt) -> None:
    chat.runtime.session.rewind(point.parent)
    chat.show_message(f"back before: {_format_first_line(point.text)}", "dim")
    chat.front.restore_input(point.text)


def _format_first_line(text: str) -> str:
    return sanitize_text(text.strip().partition("\n")[0])


def _make_preview(point: Prompt) -> Callable[[], str]:
    return lambda: sanitize_text(point.text.strip())
