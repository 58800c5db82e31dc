"""What the user does with attempts of this session: look at one, compare two, direct one that runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cli.output.attempts.attempt_rows import AttemptRow, list_rows
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.strategy.person.attempt_tree import AttemptTree
    from agent.strategy.person.directions import Direction
    from cli.tui.conversation.conversation import Conversation

DIFF_LINES = 400
"""Maximum lines of a change on the screen; `patchwright attempts` in a pipe prints all."""


async def load_tree(chat: Conversation) -> AttemptTree:
    """Return the attempts of the session. Raises UserError if it has made none."""
    from agent.strategy.person.attempt_tree import AttemptTree

    history = chat.runtime.session.replayed
    tree = await asyncio.to_thread(lambda: AttemptTree.from_events(history))
    if not tree:
        raise UserError(Fault.USAGE, "this session has made no attempts", "Make some: /attempts [N] TASK")
    return tree


async def load_rows(chat: Conversation) -> tuple[AttemptTree, list[AttemptRow]]:
    """Return the attempts of the session, and a row for each. Raises UserError if it has made none."""
    tree = await load_tree(chat)
    sessions = chat.runtime.session.folder.parent
    is_open = chat.runtime.is_turn_running
    return tree, await asyncio.to_thread(list_rows, tree, sessions, is_open=is_open)


async def show_attempt(chat: Conversation, number: int) -> None:
    """Show the verdicts, the report and the change of an attempt."""
    from cli.output.attempts.attempt_report import format_report

    tree, rows = await load_rows(chat)
    node = tree.get_node(number)
    row = next(each for each in rows if each.number == number)
    lines = list(format_report(tree, node, row))
    if patch := _read_patch(chat, tree, number):
        lines += ["", *_format_diff(chat, patch)]
    chat.view.show_note("\n".join(lines))


async def show_applied_change(chat: Conversation) -> None:
    """Show the change of the attempt that was applied, as an edit of a turn is shown."""
    tree, rows = await load_rows(chat)
    chosen = next((each.number for each in rows if each.chosen), None)
    if chosen is not None and (patch := _read_patch(chat, tree, chosen)):
        chat.view.show_note("\n".join([f"applied, from attempt {chosen}:", *_format_diff(chat, patch)]))


async def compare_attempts(chat: Conversation, first: int, second: int) -> None:
    """Show the results of two attempts, and the difference of their files."""
    from agent.children.places import open_git
    from agent.strategy.person.patch_exchange import build_difference
    from cli.output.attempts.attempt_rows import format_lines
    from cli.output.style.paint import make_painter
    from tools.git.git_process import GitFailed

    tree, rows = await load_rows(chat)
    numbers = [tree.get_node(number).number for number in (first, second)]
    by_number = {each.number: each for each in rows}
    terminal = chat.front.terminal
    paint = make_painter(colour=terminal.colour)
    shown = [by_number[number] for number in numbers]
    lines = format_lines(shown, terminal.columns - 1, paint, unicode=terminal.unicode)
    patches = [_read_patch(chat, tree, number) for number in numbers]

    def build() -> bytes:
        return build_difference(open_git(chat.runtime.workspace.root, chat.home), tree.base, *patches)

    try:
        text = await asyncio.to_thread(build)
    except GitFailed:  # git has removed the commit that they began with
        for number, patch in zip(numbers, patches, strict=True):
            lines += [f"attempt {number}:", *_format_diff(chat, patch)]
    else:
        lines += _format_diff(chat, text) if text else ["their files are the same"]
    chat.view.show_note("\n".join(lines))


async def guide_attempt(chat: Conversation, number: int, text: str) -> None:
    """Tell an attempt of the running turn something."""
    from agent.events import GuidanceEvent

    await _direct(chat, GuidanceEvent(attempt=number, text=text))


async def stop_attempt(chat: Conversation, number: int) -> None:
    """Stop an attempt of the running turn, and what goes on from it."""
    from agent.events import StopAttemptEvent

    await _direct(chat, StopAttemptEvent(attempt=number))


async def _direct(chat: Conversation, direction: Direction) -> None:
    from agent.strategy.person.direction_check import check_direction

    check_direction(await load_tree(chat), direction)
    chat.runtime.session.append(direction)


def _read_patch(chat: Conversation, tree: AttemptTree, number: int) -> bytes:
    candidate = tree.get_node(number).candidate
    return chat.runtime.workspace.artifacts.read(candidate.patch if candidate is not None else "") or b""


def _format_diff(chat: Conversation, patch: bytes) -> list[str]:
    from cli.output.diff.diff_layout import DiffLayout
    from cli.output.diff.diff_view import format_diff

    terminal = chat.front.terminal
    width = terminal.columns if chat.front.redraws else 0
    layout = DiffLayout(
        colour=terminal.colour, width=width, unicode=terminal.unicode, rest="patchwright attempts shows all"
    )
    return list(format_diff(patch.decode("utf-8", "replace"), layout, limit=DIFF_LINES))
