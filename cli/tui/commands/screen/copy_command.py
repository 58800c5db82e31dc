"""/copy: the last answer, or a code block of it, to the clipboard."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cli.tui.commands.slash_command import Command
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text
from tools.core.text import format_count

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation

LARGEST = 74_994
"""Bytes of text: with their encoding 100,000 bytes, the most that xterm and others take in one sequence."""

BLOCKS_READ = 20
"""Answers that are searched for code blocks."""


async def copy(chat: Conversation, argument: str) -> None:
    """Copy the last answer, its last code block (`code`), or the nth last block."""
    if argument and argument != "code" and not (argument.isdecimal() and int(argument)):
        raise UserError(
            Fault.USAGE,
            f"/copy does not know {argument!r}",
            "/copy, /copy code, or /copy 2 for the block before the last",
        )
    number = int(argument) if argument.isdecimal() else 1
    text = await asyncio.to_thread(_find_block if argument else _find_answer, chat, number)
    shown = sanitize_text(text)  # as it is on the screen: no hidden characters come along
    await _put_into_clipboard(chat, shown)
    what = "the answer" if not argument else "the code"
    chat.show_message(f"copied {what}: {format_count(shown.count(chr(10)) + 1, 'line')}")


async def _put_into_clipboard(chat: Conversation, text: str) -> None:
    """Send a text to the terminal's clipboard; to a program of the desktop where that is not possible.

    Raises UserError if neither can take it.
    """
    from cli.tui.clipboard.clipboard_programs import TEXT_WRITERS, find_program, write_clipboard

    size = len(text.encode())
    if can_copy() and size <= LARGEST and chat.front.send_control(build_copy_sequence(text)):
        return
    program = find_program(TEXT_WRITERS)
    if program is not None and await asyncio.to_thread(write_clipboard, program, text):
        return
    if size > LARGEST:
        message = f"{size:,} bytes are too much for a terminal's clipboard ({LARGEST:,} at most)"
    else:
        message = "this terminal has no clipboard, and no program for it was found"
    raise UserError(Fault.USAGE, message, "Write the session to a file: /export FILE")


def _find_answer(chat: Conversation, number: int) -> str:
    for text in _iter_answers(chat):
        return text
    raise UserError(Fault.USAGE, "there is no answer yet")


def _find_block(chat: Conversation, number: int) -> str:
    from markdown_it import MarkdownIt

    left = number
    for count, text in enumerate(_iter_answers(chat)):
        blocks = [each.content for each in MarkdownIt().parse(text) if each.type in ("fence", "code_block")]
        if len(blocks) >= left:
            return blocks[-left].removesuffix("\n")
        left -= len(blocks)
        if count + 1 >= BLOCKS_READ:
            break
    found = number - left
    raise UserError(
        Fault.USAGE,
        f"there are {found} code blocks in the last answers" if found else "there is no code block yet",
    )


def _iter_answers(chat: Conversation) -> Iterator[str]:
    """Yield the texts of answers, the last one first; the log is read backwards, only as far as needed."""
    from agent.events import MessageEvent, ObservationEvent

    for event in reversed(chat.runtime.session.replayed):
        if isinstance(event, ObservationEvent) and event.data.get("summary"):
            yield str(event.data["summary"])
        elif isinstance(event, MessageEvent) and event.text.strip():
            yield event.text.strip()


def can_copy(env: Mapping[str, str] = os.environ) -> bool:
    """Return whether the terminal may take OSC 52; no terminal answers, so those known not to are listed."""
    return env.get("TERM_PROGRAM") != "Apple_Terminal" and "VTE_VERSION" not in env


def build_copy_sequence(text: str, env: Mapping[str, str] = os.environ) -> str:
    """Return the control sequence. In tmux it is sent twice: to tmux, and through it to the terminal around it, of
    which its settings (`set-clipboard`, `allow-passthrough`) let one or the other have an effect."""
    import base64

    sequence = f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07"
    if not env.get("TMUX"):
        return sequence
    return sequence + "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"


COMMANDS = (
    Command(
        name="/copy",
        argument="[code|N]",
        help="the last answer, or its code, to the clipboard",
        details="/copy code: the last code block; /copy 2: the block before it, and so on.\n"
        "By the terminal (OSC 52), also over ssh and in tmux; else by wl-copy, xclip, xsel or pbcopy.",
        run=copy,
    ),
)
