"""Lines of a log as events, with one answer to damage: the place from which on nothing is known."""

from __future__ import annotations

from pathlib import Path

from agent.events import Event, NewerFormat, parse_event
from sandbox.errors import Fault, UserError


class DamagedLog(UserError):
    """A line of a log is no event. start: byte at which it begins"""

    def __init__(self, path: Path, start: int) -> None:
        self.start = start
        super().__init__(
            Fault.CONFIGURATION,
            f"the log {str(path)!r} is damaged after byte {start}",
            "Keep a copy, cut the file there, and resume.",
        )


def parse_log_line(line: bytes, path: Path, start: int) -> Event:
    """Return the event of a whole line, which begins at byte `start` of the log. Raises DamagedLog, or UserError for
    one of a newer format."""
    try:
        return parse_event(line)
    except NewerFormat as error:
        raise UserError(error.fault, f"session {path.parent.name!r}: {error.message}", error.hint) from None
    except ValueError:
        raise DamagedLog(path, start) from None
