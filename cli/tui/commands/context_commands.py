"""/context, /compact and /state: contents of the context window, its compaction, and the state ledger."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.events import Compaction
    from cli.tui.conversation.conversation import Conversation

SHOWN_COMPACTIONS = 6

DIFF_LINES = 200


async def context(chat: Conversation, argument: str) -> None:
    """Show the usage of the context window, show the diff of a compaction, or undo one."""
    word, _, which = argument.partition(" ")
    acts = {"": _show_overview, "diff": _show_diff, "undo": _undo_compaction}
    if word not in acts:
        raise UserError(
            Fault.USAGE,
            f"/context {word!r} is not known",
            "Like this: /context, /context diff, /context undo",
        )
    await acts[word](chat, which.strip())


async def compact(chat: Conversation, argument: str) -> None:
    """Compact the history now."""
    compressor, made = chat.runtime.loop.compressor, None
    async for event in compressor.compact_on_request(argument):
        made = chat.runtime.session.append(event)
    if made is None:
        chat.show_message("there is no past to shorten yet")


async def state(chat: Conversation, argument: str) -> None:
    """Show the state ledger that ends each request."""
    chat.show_message(
        chat.runtime.loop.compressor.render_full_state()
        or "nothing to say yet: no plan, no change, no test run"
    )


async def _show_overview(chat: Conversation, which: str) -> None:
    from agent.context.window_usage import list_active_compactions, measure_usage
    from cli.tui.conversation.footer_line.footer import describe_context, measure_context

    found = measure_usage(chat.runtime.loop.compressor)
    wide = max(len(kind) for kind in found.parts)
    used = describe_context(measure_context(chat.runtime))
    shares = f" ({used})" if used else ""
    lines = [
        f"{found.total:,} of {found.window:,} tokens{shares}, by estimate; shortened at the latest from {found.hard:,}"
    ]
    terminal = chat.front.terminal
    room = max(min(terminal.columns - wide - 18, 20), 0)  # for the longest bar
    for kind, tokens in found.parts.items():
        share = tokens / max(found.total, 1)
        bar = ("█" if terminal.unicode else "#") * round(share * room)
        lines.append(f"  {kind:<{wide}} {tokens:>8,} {share:>4.0%} {bar}".rstrip())
    made = await asyncio.to_thread(list_active_compactions, chat.runtime.session.replayed)
    lines += [_format_compaction(event) for event in made[-SHOWN_COMPACTIONS:]]
    lines += (
        ["  /context diff ID shows what one changed, /context undo takes the last one back"] if made else []
    )
    chat.view.show_note(sanitize_text("\n".join(lines)))


async def _show_diff(chat: Conversation, which: str) -> None:
    from agent.context.window_usage import iter_replacements
    from cli.output.diff.diff_layout import DiffLayout
    from cli.output.diff.diff_view import format_diff
    from tools.core.text import format_unified_diff

    event = await _find_compaction(chat, which)
    terminal = chat.front.terminal
    width = terminal.columns if chat.front.redraws else 0
    layout = DiffLayout(
        colour=terminal.colour, width=width, unicode=terminal.unicode, rest="the session's log has all"
    )
    lines = [_format_compaction(event)]
    for where, old, new in iter_replacements(event, chat.runtime.recall_index, chat.runtime.session.replayed):
        lines += format_diff(format_unified_diff(where, old, new), layout, limit=DIFF_LINES)
    chat.view.show_note("\n".join(lines))


async def _undo_compaction(chat: Conversation, which: str) -> None:
    from agent.context.restore.projection_replay import undo_compaction

    event = await _find_compaction(chat, which)
    undo_compaction(chat.runtime.session, chat.runtime.projection, event)
    chat.runtime.loop.compressor.postpone_compaction()
    chat.show_message(f"compaction {event.id} is taken back: what it left out is sent again")


async def _find_compaction(chat: Conversation, which: str) -> Compaction:
    from agent.context.window_usage import list_active_compactions

    made = await asyncio.to_thread(list_active_compactions, chat.runtime.session.replayed)
    for event in reversed(made):
        if which in ("", event.id):
            return event
    if which:
        raise UserError(Fault.USAGE, f"no compaction {which!r} holds", "/context lists them")
    raise UserError(Fault.USAGE, "nothing was shortened", "/context says what fills the window")


def _format_compaction(event: Compaction) -> str:
    return f"  {event.id}  {event.stage}: {event.tokens_before:,} to {event.tokens_after:,} tokens ({event.reason})"


COMMANDS = (
    Command(
        name="/context",
        argument="[diff|undo]",
        help="what fills the model's window",
        details="/context diff [ID]: what a compaction left out and put in its place\n"
        "/context undo [ID]: send what it left out again",
        run=context,
        while_working=False,
    ),
    Command(
        name="/compact",
        argument="[FOCUS]",
        help="shorten the past now",
        details="All but the last step becomes one summary. FOCUS says what a model that writes it keeps in view.",
        run=compact,
        while_working=False,
    ),
    Command(name="/state", argument="", help="where the work stands, as the model is told", run=state),
)
