"""Work on a goal in a conversation: its turns are shown like those of typed prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.events import End
from agent.goal_state import GoalState, find_active_goal
from sandbox.extensions import load_extension

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


def find_goal_to_resume(chat: Conversation) -> GoalState | None:
    """Return the goal that a kill or a closed terminal cut off; say so if it is paused."""
    state = find_active_goal(chat.runtime.session)
    if state is None:
        return None
    if state.is_paused or chat.planning.on:
        chat.show_message("the goal is paused; /goal resume goes on", "dim")
        return None
    return state


async def work_on_goal(chat: Conversation, state: GoalState) -> None:
    """Take turns until the goal is reached, or its work ends."""

    async def take_turn(prompt: str | None, notes: Sequence[str]) -> End:
        chat.note = "\n\n".join([*filter(None, [chat.note]), *notes])
        return await chat.run_turn(prompt, shown="", strategy=chat.settings.session.strategy)

    await load_extension("goals", "run")(runtime=chat.runtime, state=state, take_turn=take_turn).run()
