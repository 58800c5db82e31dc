"""/diff: changes made by the session."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cli.output.diff.diff_layout import DiffLayout
from cli.output.diff.diff_view import format_diff
from cli.output.style.paint import make_painter
from cli.tui.commands.slash_command import Command
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation
    from sandbox.snapshots.workspace_snapshots import Change, Snapshots

DIFF_LINES = 400
"""Maximum lines per file in /diff; for more, use an editor, or git diff with a pager."""


async def diff(chat: Conversation, argument: str) -> None:
    """Show the diff between the files before the session's first change and their present content."""
    snapshots = _get_snapshots(chat)
    before = await asyncio.to_thread(_find_first_states, chat, snapshots) if snapshots else {}
    shown, headings = [], []
    for path, change in sorted(before.items()):
        assert snapshots is not None
        old = snapshots.read_content(change.before) if change.before else b""
        new = await asyncio.to_thread(_read_present, chat, path)
        if old is None or old != new:
            headings.append(_format_heading(chat, path))
            shown.append(_format_file_diff(chat, path, old, new))
    shown += _describe_commits(chat, unchanged=not shown)
    chat.view.show_note("\n".join(shown) if shown else "this session has changed no file", headings)


def _describe_commits(chat: Conversation, *, unchanged: bool) -> Iterator[str]:
    """Yield a line on the commits whose changes are in the files, and one on those that were undone there."""
    timeline = chat.history.timeline
    turns = {step.turn for step in timeline.active_steps}
    kept = [each for turn, commits in timeline.commits.items() if turn in turns for each in commits]
    undone = [each for turn, commits in timeline.commits.items() if turn not in turns for each in commits]
    if undone and unchanged:
        yield "no file differs from before this session's first change"
    if kept:
        yield f"committed: {', '.join(each[:7] for each in kept)}  (git show {kept[-1][:7]})"
    if undone:
        names = ", ".join(each[:7] for each in undone)
        yield f"undone in the files, still committed: {names}  (git diff HEAD shows it; git revert undoes it there too)"


def _get_snapshots(chat: Conversation) -> Snapshots | None:
    """Return the session's snapshots; None in read-only mode, where nothing can have changed."""
    from sandbox.snapshots.workspace_snapshots import Snapshots

    found = chat.runtime.snapshots
    return found if isinstance(found, Snapshots) else None


def _find_first_states(chat: Conversation, snapshots: Snapshots) -> dict[str, Change]:
    """Return the first change of each path that a step changed, with the state before it."""
    first: dict[str, Change] = {}
    spans = [span for step in chat.history.timeline.active_steps for span in step.spans]
    for before, after in spans:
        for change in snapshots.list_changes(before, after):
            first.setdefault(change.path, change)
    return first


def _read_present(chat: Conversation, path: str) -> bytes:
    files = chat.runtime.workspace.files
    return files.read(path) if files.is_file(path) else b""


def _format_file_diff(chat: Conversation, path: str, old: bytes | None, new: bytes) -> str:
    from tools.core.text import format_unified_diff

    heading = _format_heading(chat, path)
    if old is None or b"\0" in old[:8192] or b"\0" in new[:8192]:
        return f"{heading}: changed (not shown: binary or too large)"
    text = format_unified_diff(path, old.decode("utf-8", "replace"), new.decode("utf-8", "replace"))
    terminal = chat.front.terminal
    width = terminal.columns if chat.front.redraws else 0
    layout = DiffLayout(colour=terminal.colour, width=width, unicode=terminal.unicode)
    return "\n".join([heading, *format_diff(text, layout, limit=DIFF_LINES)])


def _format_heading(chat: Conversation, path: str) -> str:
    return make_painter(colour=chat.front.terminal.colour)(sanitize_text(path), "bold")


COMMANDS = (Command(name="/diff", argument="", help="what this session changed", run=diff),)
