"""Attempts of this session as rows of a picker; Enter opens the transcript of one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cli.tui.frontend import Choice
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.events import AttemptEvent, CandidateEvent
    from cli.tui.conversation.conversation import Conversation


async def show_attempts(chat: Conversation) -> None:
    """Let the user choose among the attempts of the session, and show the transcript of the chosen one."""
    made, ends = await asyncio.to_thread(_read_attempts, chat)
    if not made:
        raise UserError(Fault.USAGE, "this session has made no attempts", "Make some: /attempts [N] TASK")
    rows = [_make_choice(each, ends.get(each.child)) for each in made]
    chosen = await chat.front.pick("Which attempt?", rows)
    if chosen is not None:
        from cli.tui.commands.choices.transcripts import show_child

        await show_child(chat, made[chosen].child, f"attempt {made[chosen].number}")


def _read_attempts(chat: Conversation) -> tuple[list[AttemptEvent], dict[str, CandidateEvent]]:
    """Return the attempts, the newest first, and their results by session.

    Attempts that run beside each other are logged in the order in which they got to start: their numbers count.
    """
    from agent.events import AttemptEvent, CandidateEvent

    runs: list[dict[int, AttemptEvent]] = [{}]
    ends: dict[str, CandidateEvent] = {}
    for event in chat.runtime.session.replayed.select_events(AttemptEvent, CandidateEvent):
        if isinstance(event, AttemptEvent):
            if event.number in runs[-1]:
                runs.append({})
            runs[-1][event.number] = event
        elif isinstance(event, CandidateEvent):
            ends[event.child] = event
    return [run[number] for run in reversed(runs) for number in sorted(run, reverse=True)], ends


def _make_choice(attempt: AttemptEvent, end: CandidateEvent | None) -> Choice:
    about = [attempt.model, attempt.hint, end.outcome if end is not None else "not ended"]
    return Choice(
        label=f"attempt {attempt.number}", about=sanitize_text(" · ".join(filter(None, about))[:200])
    )
