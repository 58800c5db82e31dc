"""A turn or a goal that a kill cut off: what was cut is said, and the person decides whether it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.events import ActionEvent, Event, MessageEvent, ObservationEvent, Prompt
from agent.session.log import INTERRUPTED, Session
from cli.output.lines.action_descriptions import ActionTracker
from cli.tui.conversation.session_history import has_unfinished_turn
from cli.tui.frontend import Option, Question

if TYPE_CHECKING:
    from agent.goal_state import GoalState
    from cli.tui.conversation.conversation import Conversation

SHOWN_EVENTS = 30
"""Last events of the turn that are shown again: about ten actions (Ctrl-O shows all)."""

_GO_ON = Question(
    title="It was cut off. Go on with it?",
    options=(
        Option(name="go on", key="g", label="Go on", about="from where it was cut off"),
        Option(name="leave", key="l", label="Leave it", about="say what to do instead"),
    ),
    otherwise="leave",
)


def has_work_to_resume(chat: Conversation) -> bool:
    """Return whether the session ended in a turn, in plan mode, or with a goal that is still to be reached."""
    session = chat.runtime.session
    if has_unfinished_turn(session) or chat.planning.was_on:
        return True
    if not session.replayed.find_newest_place("goal"):
        return False
    from agent.goal_state import find_active_goal

    return find_active_goal(session) is not None


async def resume_work(chat: Conversation) -> None:
    """Return to plan mode if the session ended in it, and offer to go on with what was cut off."""
    goal = _find_goal(chat)
    if chat.planning.was_on:
        await chat.planning.enter()
        chat.show_message("plan mode is on, as it was (/plan leaves it)", "dim")
    unfinished = has_unfinished_turn(chat.runtime.session)
    if goal is None and not unfinished:
        return
    turn = list_turn_events(chat.runtime.session) if unfinished else []
    chat.show_message(describe_cut(turn, goal.start.text if goal is not None else ""), "yellow")
    if (await chat.front.ask(_GO_ON)).name != "go on":
        how = "/goal resume goes on, /goal stop ends it" if goal is not None else "say what to do instead"
        chat.show_message(f"nothing was done; {how}", "dim")
    elif goal is not None:
        from cli.tui.conversation.goal_work import work_on_goal

        await work_on_goal(chat, goal)
    else:
        await chat.run_turn(None, strategy=chat.settings.session.strategy)


def list_turn_events(session: Session) -> list[Event]:
    """Return the messages and actions of the session's last turn, with their results."""
    found: list[Event] = []
    for event in reversed(session.replayed):
        if isinstance(event, Prompt):
            break
        if isinstance(event, MessageEvent | ActionEvent | ObservationEvent):
            found.append(event)
    return found[::-1]


def describe_cut(turn: Sequence[Event], goal: str = "") -> str:
    """Return where the work was cut off, in a sentence. turn: events of the unfinished turn; goal: its text"""
    what = f"The goal was cut off: {goal}" if goal else "This turn was cut off"
    steps = sum(isinstance(event, MessageEvent) for event in turn)
    after = f" after {steps} step{'' if steps == 1 else 's'}" if steps else " before the model answered"
    tracker, running = ActionTracker(), ""
    for event in turn:
        if isinstance(event, ObservationEvent) and event.text == INTERRUPTED:
            running = f"{event.tool} {tracker.get_target(event.call)}".strip()
        tracker.handle_event(event)
    if goal and not turn:
        return f"{what}."
    gap = "," if goal else ""
    if running:
        return f"{what}{gap}{after}, during {running}, which may have taken effect."
    if turn and isinstance(turn[-1], MessageEvent) and not turn[-1].actions:
        return f"{what}{gap}{after}, before the work was checked."
    return f"{what}{gap}{after}."


def _find_goal(chat: Conversation) -> GoalState | None:
    """Return the goal whose work was cut off; of a paused one only say so."""
    if not chat.runtime.session.replayed.find_newest_place("goal"):
        return None
    from cli.tui.conversation.goal_work import find_goal_to_resume

    return find_goal_to_resume(chat)
