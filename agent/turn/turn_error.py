"""Error that ended a turn: its event, its exit code, and the traceback of an internal one."""

from __future__ import annotations

from pathlib import Path

from agent.events import ErrorEvent
from agent.exit_codes import BY_FAULT, Exit
from sandbox.errors import UserError
from sandbox.fs.private_files import write_private_file
from sandbox.secrets.child_environment import redact


def describe_error(error: Exception, folder: Path) -> tuple[ErrorEvent, Exit]:
    """Return the event and the exit code of a turn that an error ended.

    folder: of the session; the traceback of an internal error is written there
    """
    if isinstance(error, UserError):
        event = ErrorEvent(fault=error.fault, message=error.message, hint=error.hint)
        return event, BY_FAULT[error.fault]
    import traceback

    report = folder / "traceback.txt"
    try:
        text = redact("".join(traceback.format_exception(error)))
        write_private_file(report, text.encode("utf-8", "replace"))
    except OSError:  # the disk may be the cause; the event still reports the error
        report = Path("(not written)")
    message = f"{type(error).__name__}: {error}"
    return ErrorEvent(fault="internal", message=message, hint=f"Traceback: {report}"), Exit.INTERNAL
