"""/attempts: several attempts at a task; look at them, compare, take, guide and stop them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.lazy_pattern import compile_lazily

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation

MOST_ATTEMPTS = 16
"""As for `run --attempts`."""

_FORMS = {
    "show": compile_lazily(r"show (\d+)"),
    "diff": compile_lazily(r"diff (\d+) (\d+)"),
    "use": compile_lazily(r"use (\d+)"),
    "guide": compile_lazily(r"guide (\d+) (.+)", re.DOTALL),
    "stop": compile_lazily(r"stop (\d+)"),
}
"""What is no task. "stop using globals" is one."""

_USAGE = "/attempts show N, diff N M, use N, guide N TEXT, stop N; or a task: /attempts [N] TASK"


async def attempts(chat: Conversation, argument: str) -> None:
    """Show the attempts made so far, do something with one, or run a turn of several attempts at a task."""
    word = argument.partition(" ")[0]
    match = _FORMS[word].fullmatch(argument) if word in _FORMS else None
    if not argument:
        from cli.tui.commands.attempts.attempt_picker import show_attempts

        await show_attempts(chat)
    elif match is not None:
        await _act(chat, word, *match.groups())
    elif word in _FORMS and re.fullmatch(rf"{word}( \d.*)?", argument, re.DOTALL):
        raise UserError(Fault.USAGE, f"/attempts {argument}: something is missing or too much", _USAGE)
    else:
        await _make_attempts(chat, argument)


async def _act(chat: Conversation, word: str, number: str, rest: str = "") -> None:
    from cli.tui.commands.attempts import attempt_actions

    match word:
        case "show":
            await attempt_actions.show_attempt(chat, int(number))
        case "diff":
            await attempt_actions.compare_attempts(chat, int(number), int(rest))
        case "guide":
            await attempt_actions.guide_attempt(chat, int(number), rest)
        case "stop":
            await attempt_actions.stop_attempt(chat, int(number))
        case _:
            from cli.tui.commands.attempts.taking import use_attempt

            await use_attempt(chat, int(number))


async def _make_attempts(chat: Conversation, argument: str) -> None:
    first, _, rest = argument.partition(" ")
    settings = chat.settings.session.strategy
    count, task = (int(first), rest.strip()) if first.isdecimal() else (settings.attempts, argument)
    if not task or not 1 <= count <= MOST_ATTEMPTS:
        raise UserError(
            Fault.USAGE, "/attempts needs a task", f"/attempts [N] TASK, with N from 1 to {MOST_ATTEMPTS}"
        )
    end = await chat.run_turn(task, shown="", strategy=replace(settings, name="sample", attempts=count))
    if end.files:
        from cli.tui.commands.attempts.attempt_actions import show_applied_change

        await show_applied_change(chat)


def _runs_beside(argument: str) -> bool:
    """Whether a form of the command may be used while a turn runs."""
    word = argument.partition(" ")[0]
    return not argument or (
        word in ("show", "diff", "guide", "stop") and _FORMS[word].fullmatch(argument) is not None
    )


def _list_forms(chat: Conversation) -> Iterator[tuple[str, str]]:
    yield from (
        ("show", "N: its verdicts, report and change"),
        ("diff", "N M: what differs between their files"),
        ("use", "N: take it in place of the one in your files"),
        ("guide", "N TEXT: tell a running branch something"),
        ("stop", "N: end a running branch"),
    )


COMMANDS = (
    Command(
        name="/attempts",
        argument="[[N] TASK]",
        help="several attempts at a task; apply the best",
        details="Without a task: those made so far, as a tree, with what can be done.\n"
        "/attempts show N: its verdicts, why it was chosen or not, its change\n"
        "/attempts diff N M: what differs between the files of two\n"
        "/attempts use N: take it in place of the one in your files\n"
        "/attempts guide N TEXT: tell it, and those that go on from it, something while the turn runs\n"
        "/attempts stop N: end it; nothing more goes on from it\n"
        "Each attempt is a session in its own worktree, which sees your files but not this conversation.\n"
        "The one that the tests rate best is applied; /undo reverts it. Models, temperatures and hints for\n"
        "them: settings strategy.models, strategy.temperatures, strategy.hints.",
        run=attempts,
        choices=_list_forms,
        while_working=False,
        runs_beside=_runs_beside,
    ),
)
