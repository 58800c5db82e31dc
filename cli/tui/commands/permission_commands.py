"""/mode and /approval: change the session's permissions and approval policy, at any time."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Approval, Mode

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation

MODES = {
    Mode.READ_ONLY: "look, run, write nothing",
    Mode.WORKSPACE: "write in the repository, no network",
    Mode.FULL: "write and reach everything you can",
}
APPROVALS = {
    Approval.ASK: "ask about all that is not harmless",
    Approval.AUTO: "ask about what leaves the sandbox",
    Approval.NEVER: "ask nobody: what would ask is denied",
}

Choice = TypeVar("Choice", bound=StrEnum)


async def mode(chat: Conversation, argument: str) -> None:
    """Show the session's mode, or change it."""
    from agent.mode_switch import switch_mode

    runtime = chat.runtime
    if not argument:
        chat.show_message(_format_choices("mode", runtime.policy.mode, MODES))
        return
    wanted = _parse_choice("mode", argument, Mode)
    before = runtime.policy.mode
    await switch_mode(runtime, wanted)
    if wanted is not before:
        chat.note = f"[The mode of this session is now {wanted}, not {before}: {MODES[wanted]}.]"
    if warning := runtime.workspace.sandbox.warning:
        chat.show_message(warning, "yellow")


async def approval(chat: Conversation, argument: str) -> None:
    """Show the approval policy, or change it."""
    from agent.mode_switch import switch_approval

    if not argument:
        chat.show_message(_format_choices("approval", chat.runtime.policy.approval, APPROVALS))
        return
    switch_approval(chat.runtime, _parse_choice("approval", argument, Approval))


def _format_choices(what: str, now: Choice, words: dict[Choice, str]) -> str:
    lines = [f"{'*' if each is now else ' '} {each:<10} {text}" for each, text in words.items()]
    return "\n".join([f"{what}: {now}", *lines])


def _parse_choice(what: str, word: str, kind: type[Choice]) -> Choice:
    try:
        return kind(word)
    except ValueError:
        raise UserError(Fault.USAGE, f"no {what} {word!r}", f"Choose one of: {', '.join(kind)}.") from None


def _list_modes(chat: Conversation) -> Iterable[tuple[str, str]]:
    return ((str(each), text) for each, text in MODES.items())


def _list_approvals(chat: Conversation) -> Iterable[tuple[str, str]]:
    return ((str(each), text) for each, text in APPROVALS.items())


COMMANDS = (
    Command(
        name="/mode",
        argument="[MODE]",
        help="show or change how far it reaches",
        run=mode,
        choices=_list_modes,
        while_working=False,
    ),
    Command(
        name="/approval",
        argument="[WHO]",
        help="show or change what it asks about",
        run=approval,
        choices=_list_approvals,
    ),
)
