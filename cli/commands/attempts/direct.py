"""`patchwright attempts guide` and `stop`: directions to the attempts of a turn that another process runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.exit_codes import Exit
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.strategy.person.directions import Direction
    from cli.commands.attempts.session_attempts import SessionAttempts

PATIENCE = 10.0
"""Seconds that a run may take to read its mailbox: it looks every quarter of a second."""


def direct_attempt(found: SessionAttempts, direction: Direction) -> int:
    """Give a direction to the attempts of a session. Returns the exit code. Raises UserError

    A background run gets it by its mailbox; in the log of a turn that a kill cut off it waits for `resume`.
    """
    from agent.session.log import Session
    from agent.strategy.person.direction_check import check_direction
    from cli.detached.mailbox import post_message
    from cli.detached.run_record import read_record

    check_direction(found.tree, direction)
    if not found.is_open:
        session = Session.open(found.folder)
        try:
            session.append(direction)
        finally:
            session.close()
        print(f"kept for: patchwright resume {found.folder.name}")
        return int(Exit.DONE)
    if read_record(found.folder) is None:
        raise UserError(
            Fault.USAGE,
            f"session {found.folder.name!r} runs in a terminal",
            "Say it there: /attempts guide N TEXT, /attempts stop N",
        )
    before = _count(found.folder, direction)
    message: dict[str, Any] = {"kind": direction.kind, "attempt": direction.attempt}
    post_message(found.folder, {**message, "text": getattr(direction, "text", "")})
    until = time.monotonic() + PATIENCE
    while _count(found.folder, direction) == before:
        if time.monotonic() > until:
            raise UserError(
                Fault.USAGE,
                f"session {found.folder.name!r} has not taken it within {PATIENCE:g} s",
                f"Look at it: patchwright logs {found.folder.name}",
            )
        time.sleep(0.1)
    return int(Exit.DONE)


def _count(session: Path, direction: Direction) -> int:
    """Return how many directions of a kind for one attempt a log has."""
    from agent.session.log import read_events

    same = (each for each in read_events(session) if each.kind == direction.kind)
    return sum(getattr(each, "attempt", 0) == direction.attempt for each in same)
