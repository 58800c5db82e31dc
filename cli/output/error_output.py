"""Errors that end a command: one line that states the error, and a second with the remedy."""

from __future__ import annotations

import errno
import sys
from typing import TYPE_CHECKING

from cli.output.standard_streams import write_error
from cli.output.style.terminal import Terminal, wrap_words
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text
from sandbox.secrets.child_environment import redact

if TYPE_CHECKING:
    from agent.exit_codes import Exit


def write_user_error(error: UserError) -> None:
    """Write an error to standard error: `patchwright: MESSAGE`, then the hint; on a terminal broken between words."""
    text = _sanitize_text(f"patchwright: {error.message}\n" + (f"  {error.hint}\n" if error.hint else ""))
    terminal = Terminal.from_stream(sys.stderr)
    write_error(wrap_words(text, terminal.columns) if terminal.tty else text)


def classify_error(error: BaseException) -> tuple[Exit, UserError | None]:
    """Return (exit code, error to report) for any exception; None for an interrupt or a defect of the program."""
    from agent.exit_codes import BY_FAULT, Exit

    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f" for {error.filename!r}" if error.filename else ""
        error = UserError(Fault.STORAGE_FULL, f"no space left on the device{where}")
    if isinstance(error, UserError):
        return BY_FAULT[error.fault], error
    return (Exit.INTERRUPTED if isinstance(error, KeyboardInterrupt) else Exit.INTERNAL), None


def report_error(error: BaseException) -> int:
    """Report an exception on standard error; return the exit code. Internal errors come with a traceback."""
    from agent.exit_codes import Exit

    code, told = classify_error(error)
    if told is not None:
        write_user_error(told)
    elif code is Exit.INTERRUPTED:
        write_error("patchwright: interrupted\n")
    else:
        import traceback

        write_error(_sanitize_text("".join(traceback.format_exception(error))))
        write_error(
            "patchwright: this is a fault in Patchwright itself; please report it with the lines above\n"
        )
    return int(code)


def _sanitize_text(text: str) -> str:
    """Redact and sanitize an error, which may quote untrusted text: a file name, a server's answer, code."""
    return sanitize_text(redact(text))
