"""/mode, /approval and /status: what the session may do, what it asks about, and how that is changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from cli.tui.commands.slash_command import Command
from cli.tui.conversation.access_cycle import CYCLE, find_obstacle
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Approval, Mode
from sandbox.policy.rules import Rule

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


async def status(chat: Conversation, argument: str) -> None:
    """Show mode, approval, sandbox and rules together, each in a sentence."""
    policy, sandbox = chat.runtime.policy, chat.runtime.workspace.sandbox
    plans = " (plan mode: until you agree to a plan)" if chat.planning.on else ""
    confined = sandbox.warning or f"{sandbox.name} confines every command that it runs."
    fixed = chat.settings.session.access
    left_out = [f"{each.name}: {why}" for each in CYCLE if (why := find_obstacle(fixed, sandbox.name, each))]
    lines = [
        ("mode", f"{policy.mode}{plans}: {MODES[policy.mode]}."),
        ("approval", f"{policy.approval}: {APPROVALS[policy.approval]}."),
        ("sandbox", confined),
        ("rules", _describe_rules(policy.rules.rules)),
        ("left out", f"by Shift-Tab, {'; '.join(left_out)}." if left_out else ""),
    ]
    chat.show_message("\n".join(f"{name:<9} {text}" for name, text in lines if text))


def _describe_rules(rules: Sequence[Rule]) -> str:
    """Return the rules in a sentence, the strictest first; the first `NAMED` of each verdict by name."""
    if not rules:
        return "none of yours: mode and approval decide."
    words = {"deny": "denied", "ask": "asked about", "allow": "allowed"}
    told = []
    for verdict, word in words.items():
        named = [str(each) for each in rules if each.verdict == verdict]
        more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
        if named:
            told.append(f"{', '.join(named[:NAMED])}{more} {'are' if len(named) > 1 else 'is'} {word}")
    return f"{'; '.join(told)}."


NAMED = 5
"""Rules of one verdict that are named."""


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
        name="/status",
        argument="",
        help="what it may do, and what it asks about",
        details="Mode, approval, sandbox and rules, each in a sentence. Shift-Tab goes through plan, ask and auto.",
        run=status,
    ),
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
