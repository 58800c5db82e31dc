"""Plan mode: read-only exploration, agreement on a plan, then its execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.events import End, Signal
from cli.tui.frontend import Option, Question
from sandbox.policy.decision import Mode
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.turn.runtime import Runtime
    from cli.tui.conversation.conversation import Conversation

ASKED = (
    "[Plan mode: only look, change nothing (edits are denied). Work out how you would do this, write it down with the"
    " `plan` tool, and answer with the plan in a few lines and what is uncertain about it. What only"
    " the user can decide, ask first (`ask_user`).]"
)

SWITCHED = "plan-mode"
"""Name of the signals that say whether plan mode is on, so that a resumed session knows."""

_ON, _OFF = "plan mode is on", "plan mode is off"

CARRY_OUT = "Carry out this plan, and tick its items off with the `plan` tool as you go:\n"


_APPROVE_PLAN = Question(
    title="The plan is made. What now?",
    options=(
        Option(
            name="carry out", key="c", label="Carry it out", about="in this session, with what was learned"
        ),
        Option(
            name="edit", key="e", label="Edit it first", about="it goes into the prompt; Enter carries it out"
        ),
        Option(name="go on", key="g", label="Go on planning", about="say what should be different"),
        Option(name="leave", key="l", label="Leave plan mode", about="nothing is done"),
    ),
    otherwise="go on",
)


def has_plan(runtime: Runtime, end: End) -> bool:
    """Return whether a turn in plan mode ended with a plan; the offline engine makes none."""
    if runtime.model.name == "offline":
        return False
    return end.outcome in ("done", "not-achieved") or (
        end.outcome == "limit" and bool(list_open_items(runtime))
    )


def list_open_items(runtime: Runtime) -> list[str]:
    """Return the items of the plan that are not done."""
    return [item.text for item in runtime.workspace.plan if item.status != "done"]


class ChatPlanMode:
    """Plan mode of a conversation. `on`: the session is in plan mode, and may not write."""

    def __init__(self, chat: Conversation) -> None:
        self._chat = chat
        self.on = False
        self._before = Mode.WORKSPACE

    async def enter(self) -> None:
        """Switch the session to read-only mode."""
        from agent.mode_switch import switch_mode

        self._before, self.on = self._chat.runtime.policy.mode, True
        await switch_mode(self._chat.runtime, Mode.READ_ONLY, plans=True)
        self._chat.runtime.session.append(Signal(name=SWITCHED, detail=_ON))

    async def leave(self) -> None:
        """Return to the mode before."""
        from agent.mode_switch import switch_mode

        if self.on:
            self.on = False
            await switch_mode(self._chat.runtime, self._before)
            self._chat.runtime.session.append(Signal(name=SWITCHED, detail=_OFF))

    @property
    def instructions(self) -> str:
        """What the model is told with each prompt; "" outside plan mode."""
        return ASKED if self.on else ""

    @property
    def was_on(self) -> bool:
        """Whether the resumed session was in plan mode."""
        for event in self._chat.runtime.session.replayed.select_marked_newest_first("signal"):
            if isinstance(event, Signal) and event.name == SWITCHED:
                return event.detail == _ON
        return False

    async def handle_turn_end(self, end: End) -> None:
        """Ask the user how to proceed with the plan after a turn in plan mode."""
        if not (self.on and has_plan(self._chat.runtime, end)):
            return
        plan = list_open_items(self._chat.runtime)
        self._chat.front.alert("the plan waits for you")
        chosen = (await self._chat.front.ask(_APPROVE_PLAN)).name
        text = CARRY_OUT + "\n".join(f"{number}. {each}" for number, each in enumerate(plan, 1))
        if not plan:
            text = "Carry out the plan that you have just given."
        if chosen in ("carry out", "edit", "leave"):
            await self.leave()
        if chosen == "carry out":
            await self._chat.run_turn(text, shown="carry out the plan")  # which is just above on the screen
        elif chosen == "edit":
            self._chat.front.restore_input(sanitize_text(text))
        elif chosen == "leave":
            self._chat.show_message("plan mode is off", "dim")
