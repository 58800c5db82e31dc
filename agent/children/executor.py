"""Where a child session runs: the seam between a child and what executes it (this process, another one, a remote)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from agent.app_dirs import Home
from agent.budget.purse import Purse
from agent.children.places import OpenPlace
from agent.events import End, Event
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime
from sandbox.lazy_dataclass import dataclass

CRASHED = "crashed"
"""Outcome of a child whose executor ended without a last event: its log is whole, and can be resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildOrder:
    """A session to start, its rights decided by its parent: an executor adds none.

    request: with the approver who is asked
    purse: pays for the child's calls; each reserves its estimate there before it is sent
    on_event: receives the session's id and its events, those of its own children included
    place: its files where they are a worktree, else None
    """

    settings: SessionSettings
    request: SessionRequest
    home: Home
    purse: Purse
    on_event: Callable[[str, Event], None]
    place: OpenPlace | None = None


class Execution(Protocol):
    """A child session that an executor runs."""

    @property
    def session(self) -> str:
        """Id of the session."""
        ...

    @property
    def runtime(self) -> Runtime | None:
        """The session's runtime where it runs in this process."""
        ...

    async def run_turn(self, prompt: str | None) -> End:
        """Run one turn; None continues an interrupted one. Never raises UserError; see `CRASHED`."""
        ...

    def steer(self, text: str) -> None:
        """Tell the running turn something after its present step, as a person does."""
        ...

    def stop(self) -> None:
        """End the running turn, which says that it was interrupted."""
        ...

    async def close(self) -> None:
        """Release the session; afterwards nothing of it runs."""
        ...


class Executor(Protocol):
    """Starts child sessions in one kind of place."""

    async def start(self, order: ChildOrder) -> Execution:
        """Start a session. Raises UserError."""
        ...


class RemotePlaces(Executor, Protocol):
    """Starts child sessions on other machines. slots: how many run at the same time"""

    slots: int
