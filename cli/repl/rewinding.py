"""Going back to an earlier prompt: the conversation, the files, or both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.events import Prompt
from cli.repl.front import Choice
from sandbox.inert import sanitize_text

if TYPE_CHECKING:
    from cli.repl.conversation import Conversation


async def offer(chat: Conversation) -> None:
    """Let the person choose a prompt, and what is to be as it was before it."""
    points = chat.runtime.session.list_prompts()
    if not points:
        chat.tell("nothing to go back to yet", "dim")
        return
    rows = [Choice(label=_line(point.text), preview=_whole(point)) for point in reversed(points)]
    chosen = await chat.front.pick("Go back to before which prompt?", rows)
    if chosen is None:
        return
    point = points[len(points) - 1 - chosen]
    steps = chat.ledger.timeline.list_steps_since(point)
    what = 1
    if steps:
        picked = await chat.front.pick(
            "What is to be as it was?",
            [
                Choice(
                    label="conversation and files", about=f"{len(steps)} steps that changed files are undone"
                ),
                Choice(label="the conversation", about="files stay as they are"),
                Choice(label="the files", about="the conversation goes on from here"),
            ],
        )
        if picked is None:
            return
        what = picked
    if what in (0, 2) and not await _files(chat, len(chat.ledger.timeline.done) - len(steps) + 1):
        return
    if what in (0, 1):
        _conversation(chat, point)


async def _files(chat: Conversation, first: int) -> bool:
    """Take back the steps from a number on; False if something is in the way."""
    from agent.undo import rewind_steps
    from cli.undo import describe_uncovered, lines_of
    from sandbox.snapshots import Snapshots

    snapshots, timeline = chat.runtime.snapshots, chat.ledger.timeline
    if not isinstance(snapshots, Snapshots):
        chat.tell("this session is read-only: it takes no snapshots to go back to", "yellow")
        return False
    outcome = await asyncio.to_thread(rewind_steps, snapshots, timeline, first)
    if outcome.event is not None:
        chat.runtime.session.append(outcome.event)
    chat.tell("\n".join(lines_of(outcome)), "yellow" if outcome.clashes else None)
    for line in await asyncio.to_thread(
        describe_uncovered, chat.runtime.workspace.root, chat.runtime.session.folder
    ):
        chat.tell(sanitize_text(line), "yellow")
    return not outcome.clashes


def _conversation(chat: Conversation, point: Prompt) -> None:
    chat.runtime.session.rewind(point.parent)
    chat.tell(f"back before: {_line(point.text)}", "dim")
    chat.front.refill(point.text)


def _line(text: str) -> str:
    return sanitize_text(text.strip().partition("\n")[0])


def _whole(point: Prompt) -> Callable[[], str]:
    return lambda: sanitize_text(point.text.strip())
