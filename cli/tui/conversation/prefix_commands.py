"""Prefix commands: `!command` runs in the shell, `#note` is added to the project's instructions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox.sanitize import sanitize_text
from tools.core.untrusted_output import enclose_in_tag

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation

SHOWN_LINES = 40
TOLD_CHARACTERS = 8_000
"""Limits on a command's output, on the screen and to the model; both get its end."""


async def run_shell_command(chat: Conversation, command: str) -> None:
    """Run the user's shell command, unconfined; the model gets its output with the next prompt."""
    from sandbox.backends.unconfined import Unconfined
    from sandbox.helpers.own_programs import require_own_program
    from sandbox.process.command import Command
    from tools.core.text import strip_terminal_codes

    runtime = chat.runtime
    chat.front.show_activity(sanitize_text(command).replace("\n", " "))
    # Not in the session's sandbox: the user could run the same command in another shell.
    sandbox = Unconfined(runtime.workspace.root)
    bash = require_own_program("bash", runtime.workspace.root)
    done = await sandbox.run(
        Command(argv=(bash, "-c", command), cwd=runtime.workspace.root, timeout=3600, env=dict(os.environ)),
        lambda chunk: chat.view.show_progress(_get_last_line(chunk)),
    )
    output = strip_terminal_codes(done.stdout.text()).rstrip("\n")
    lines = sanitize_text(output).split("\n") if output else []
    if len(lines) > SHOWN_LINES:
        lines = [f"({len(lines) - SHOWN_LINES} lines above)", *lines[-SHOWN_LINES:]]
    verdict = "" if done.returncode == 0 else f"exit {done.returncode}"
    chat.view.show_note("\n".join([*(f"  {line}" for line in lines), verdict]).strip("\n") or "  (no output)")
    told = output if len(output) <= TOLD_CHARACTERS else f"…\n{output[-TOLD_CHARACTERS:]}"
    what = f"[I ran this myself: {command}]\n" + enclose_in_tag("output", told, f" exit={done.returncode}")
    chat.note = f"{chat.note}\n\n{what}" if chat.note else what


async def append_note(chat: Conversation, text: str) -> None:
    """Append a line to the project's instructions for agents."""
    root = chat.runtime.workspace.root
    name = (
        "CLAUDE.md" if (root / "CLAUDE.md").is_file() and not (root / "AGENTS.md").exists() else "AGENTS.md"
    )
    path = root / name
    if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
        chat.show_message(f"not added: {name} is a link that leads out of the project", "yellow")
        return
    files = chat.runtime.workspace.files
    try:
        there = files.read(name) if path.exists() else b""
        newline = b"" if not there or there.endswith(b"\n") else b"\n"
        files.write(name, there + newline + f"- {text}\n".encode())
    except (ValueError, OSError) as error:  # a pipe or device, not permitted
        chat.show_message(f"not added: {error}", "yellow")
        return
    chat.show_message(f"added to {name}: {text}", "dim")
    what = f"[I have added this to {name}: {text}]"
    chat.note = f"{chat.note}\n{what}" if chat.note else what


def _get_last_line(chunk: bytes) -> str:
    lines = [line for line in chunk[-2_000:].decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""
