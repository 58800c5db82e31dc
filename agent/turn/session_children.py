"""The child sessions of a session, as it ends them and as a person reaches them; `agent.children` and `agent.team`."""

from __future__ import annotations

from typing import Protocol


class ClosedFirst(Protocol):
    """A part that is added to a session (its agents, its hooks), as the session ends it."""

    async def close(self) -> None:
        """End what is at work."""
        ...


class RunningChild(Protocol):
    """A child session that is open."""

    def steer(self, text: str) -> None:
        """Tell the running turn something after its present step."""
        ...

    def cancel(self) -> None:
        """End the running turn."""
        ...
