"""The prompt of a one-shot run: an argument, standard input, or both."""

from __future__ import annotations

import os
import select
import stat
import sys
import time

from sandbox.errors import Fault, UserError
from tools.core.untrusted_output import enclose_in_tag

STDIN_PATIENCE = 0.3
"""Seconds, counted from the start, that a prompt given as an argument waits for piped input to begin. A pipe that
stays silent (a CI job, a harness that never closes it) must not hang the run."""


LARGEST = 4_000_000
"""Bytes of piped text: a million tokens, more than the window of almost every model."""


def read_prompt(given: str | None) -> str:
    """Return the prompt: the argument, standard input, or both (piped text follows the argument)."""
    if given is None or given == "-":
        if sys.stdin.isatty():
            raise UserError(
                Fault.USAGE, "no prompt", 'Give one: patchwright run "make the failing tests pass"'
            )
        text = _read_stdin()
        if not text.strip():
            raise UserError(
                Fault.USAGE, "the prompt is empty", 'Give one: patchwright run "make the failing tests pass"'
            )
        return text
    if not given.strip():
        raise UserError(Fault.USAGE, "the prompt is empty", 'Give one: patchwright run "…"')
    piped = _read_stdin() if _has_piped_input() else ""
    return f"{given}\n\n{enclose_in_tag('stdin', piped)}" if piped.strip() else given


def read_piped(given: str | None) -> bytes:
    """Return the bytes that `read_prompt` would read from standard input, for another process."""
    if given is None or given == "-":
        return b"" if sys.stdin.isatty() else _read_bytes()
    return _read_bytes() if _has_piped_input() else b""


def _read_stdin() -> str:
    return _read_bytes().decode("utf-8", "replace")


def _read_bytes() -> bytes:
    content = sys.stdin.buffer.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise UserError(
            Fault.USAGE,
            f"more than {LARGEST // 1_000_000} MB were piped in, which no model can read at once",
            'Store them in a file and name it: patchwright run "find the first error in build.log"',
        )
    return content


def _has_piped_input() -> bool:
    try:
        kind = os.fstat(0).st_mode
    except OSError:  # closed
        return False
    if stat.S_ISREG(kind):
        return True
    if not stat.S_ISFIFO(kind):
        return False
    left = max(0.0, STDIN_PATIENCE - time.process_time())
    return bool(select.select([0], [], [], left)[0])
