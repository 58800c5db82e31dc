"""The three ways to work that one key goes through: plan, ask, auto. It never widens what the settings fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Approval, Mode

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation
    from sandbox.access_settings import AccessSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One way to work. `about`: what it means, in a few words"""

    name: str
    mode: Mode
    approval: Approval | None
    about: str


CYCLE = (
    Access(
        name="plan",
        mode=Mode.READ_ONLY,
        approval=None,
        about="plan mode: nothing is changed until you agree to a plan (/plan again leaves it)",
    ),
    Access(
        name="ask",
        mode=Mode.WORKSPACE,
        approval=Approval.ASK,
        about="ask: it asks about each change of a file, and about all that is not harmless",
    ),
    Access(
        name="auto",
        mode=Mode.WORKSPACE,
        approval=Approval.AUTO,
        about="auto: it writes in the repository, and asks about what leaves the sandbox",
    ),
)

_ALLOWED: Mapping[Approval, Sequence[Approval]] = {
    Approval.ASK: (Approval.ASK,),
    Approval.AUTO: (Approval.ASK, Approval.AUTO),
    Approval.NEVER: (),  # whoever asked for no questions has denied what would be asked
}
"""Approvals that are no wider than the one of the settings."""


def find_obstacle(fixed: AccessSettings, sandbox: str, access: Access) -> str:
    """Return why a way to work is left out, "" if it is not: narrower settings, or no sandbox.

    fixed: access that the settings allow; sandbox: name of the backend in use
    """
    if fixed.mode is Mode.READ_ONLY:
        return "the mode is set to read-only"
    if access.approval is None:
        return ""
    if fixed.approval is not None and access.approval not in _ALLOWED[fixed.approval]:
        return f"the approval is set to {fixed.approval}"
    if access.approval is Approval.AUTO and sandbox == "unconfined":
        return "there is no sandbox"
    return ""


async def cycle_access(chat: Conversation) -> None:
    """Go on to the next way to work that the settings allow; say what is left out, and why."""
    number, left_out = _find_current(chat), list[str]()
    fixed, sandbox = chat.settings.session.access, chat.runtime.workspace.sandbox.name
    for _ in CYCLE:
        number = (number + 1) % len(CYCLE)
        if obstacle := find_obstacle(fixed, sandbox, CYCLE[number]):
            left_out.append(f"{CYCLE[number].name} is left out: {obstacle}")
        else:
            break
    if len(left_out) == len(CYCLE) or (_find_current(chat) == number and not chat.planning.on):
        chat.show_message("\n".join(left_out), "yellow")
    elif _find_current(chat) == number:
        with chat.view.mute_switches():
            await chat.planning.leave()
        chat.show_message("\n".join(["plan mode is off", *left_out]), "dim")
    else:
        await _enter(chat, CYCLE[number])
        chat.show_message("\n".join([CYCLE[number].about, *left_out]), "dim")


def _find_current(chat: Conversation) -> int:
    """Return the number of the present way to work; -1 for one that is none of them."""
    policy = chat.runtime.policy
    if chat.planning.on:
        return 0
    present = (policy.mode, policy.approval)
    found = (number for number, each in enumerate(CYCLE) if (each.mode, each.approval) == present)
    return next(found, -1)


async def _enter(chat: Conversation, access: Access) -> None:
    from agent.mode_switch import switch_approval, switch_mode

    with chat.view.mute_switches():  # one line says it
        if access.approval is None:
            await chat.planning.enter()
            return
        await chat.planning.leave()
        if chat.runtime.policy.mode is not access.mode:
            await switch_mode(chat.runtime, access.mode)
        if chat.runtime.policy.approval is not access.approval:
            switch_approval(chat.runtime, access.approval)


def describe_access(chat: Conversation) -> str:
    """Return mode and approval in a few words, "" if they are the default."""
    from agent.assemble import default_approval

    policy = chat.runtime.policy
    if chat.planning.on:
        return "plan"
    words = [] if policy.mode is Mode.WORKSPACE else [str(policy.mode)]
    if policy.approval is not default_approval(chat.runtime.workspace.sandbox):
        words.append(str(policy.approval))
    return ", ".join(words)
