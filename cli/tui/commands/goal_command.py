"""/goal: work on over several turns until a check passes."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.goal_state import GoalState
    from cli.tui.conversation.conversation import Conversation

USAGE = '/goal TEXT --until "COMMAND" [--max-turns N] [--max-cost DOLLARS] [--max-time SECONDS]'


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalWords:
    """A goal as it was typed."""

    text: str
    check: str = ""
    max_turns: int | None = None
    max_cost: float | None = None
    max_time: float | None = None


async def goal(chat: Conversation, argument: str) -> None:
    """Show, set, stop or go on with the session's goal."""
    from agent.goal_state import find_active_goal, read_goal, stop_goal

    active = find_active_goal(chat.runtime.session)
    if not argument:
        state = read_goal(chat.runtime.session)
        chat.show_message(_describe(state) if state else f"no goal; set one: {USAGE}", "dim")
    elif argument == "stop":
        if active is None:
            raise UserError(Fault.USAGE, "there is no goal to stop")
        stop_goal(chat.runtime.session, active, "stopped by the user")
        if chat.runtime.is_turn_running:
            chat.show_message("the running turn goes on as an ordinary one; Ctrl-C stops it", "dim")
    elif argument == "resume":
        if active is None:
            raise UserError(Fault.USAGE, "there is no goal to go on with", f"Set one: {USAGE}")
        await _work(chat, active)
    else:
        words = read_words(argument)
        from agent.goal_state import set_goal

        _check_idle(chat)
        state = set_goal(
            chat.runtime,
            words.text,
            words.check,
            max_turns=words.max_turns,
            max_cost=chat.settings.session.limits.max_cost if words.max_cost is None else words.max_cost,
            max_time=words.max_time,
        )
        await _work(chat, state)


async def _work(chat: Conversation, state: GoalState) -> None:
    from cli.tui.conversation.goal_work import work_on_goal

    _check_idle(chat)
    await work_on_goal(chat, state)


def _check_idle(chat: Conversation) -> None:
    if chat.runtime.is_turn_running:
        raise UserError(Fault.USAGE, "a turn is running", "Wait for its end, or stop it with Ctrl-C.")
    if chat.planning.on:
        raise UserError(Fault.USAGE, "nothing can be changed in plan mode", "Leave it first: /plan")


def read_words(argument: str) -> GoalWords:
    """Return the parts of a typed goal. Raises UserError for an option that is wrong."""
    text, mark, rest = _split_options(argument)
    try:
        words = shlex.split(mark + rest)
    except ValueError as error:
        raise UserError(Fault.USAGE, f"{str(error).lower()} in {rest!r}", USAGE) from None
    given: dict[str, str] = {}
    while words:
        name, _, value = words.pop(0).partition("=")
        value = value or (words.pop(0) if words else "")
        if name not in _OPTIONS or not value:
            raise UserError(Fault.USAGE, f"{name!r} is not understood", USAGE)
        given[name] = value
    try:
        return GoalWords(
            text=text,
            check=given.get("--until", ""),
            max_turns=int(given["--max-turns"]) if "--max-turns" in given else None,
            max_cost=float(given["--max-cost"]) if "--max-cost" in given else None,
            max_time=float(given["--max-time"]) if "--max-time" in given else None,
        )
    except ValueError as error:
        raise UserError(Fault.USAGE, f"a limit is no number: {error}", USAGE) from None


_OPTIONS = ("--until", "--max-turns", "--max-cost", "--max-time")


def _split_options(argument: str) -> tuple[str, str, str]:
    """Return the text before the first option, that option, and the rest."""
    found = re.search(rf"(?:^|\s)({'|'.join(_OPTIONS)})(?=[\s=]|$)", argument)
    if found is None:
        return argument.strip(), "", ""
    return argument[: found.start()].strip(), found[1], argument[found.end() :]


def _describe(state: GoalState) -> str:
    start = state.start
    if not state.is_active:
        now = "reached" if state.last.stage == "reached" else f"ended: {state.last.reason}"
    else:
        now = "paused; /goal resume goes on" if state.is_paused else "at work; /goal stop ends it"
    check = f"`{start.check}`" if start.check else "the requirements of the task"
    result = f" ({state.detail})" if state.detail else ""
    return "\n".join(
        [
            f"goal: {start.text}",
            f"check: {check}{result}",
            f"turns: {state.turn} of {start.max_turns}",
            f"state: {now}",
        ]
    )


COMMANDS = (
    Command(
        name="/goal",
        argument='[TEXT --until "COMMAND" | stop | resume]',
        help="work on over turns until a command passes",
        details="COMMAND runs in the sandbox after each turn; exit code 0 reaches the goal. Without --until the\n"
        "requirements of TEXT have to hold. --max-turns N, --max-cost DOLLARS, --max-time SECONDS limit it.\n"
        "Without an argument it shows the goal.",
        run=goal,
    ),
)
