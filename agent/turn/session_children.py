"""The child sessions of a session, as it ends them and as a person reaches them; `agent.children` and `agent.team`."""

from __future__ import annotations

from typing import Protocol


class SessionAgents(Protocol):
    """The agents of a session."""

    async def close(self) -> None:
        """End all agents."""
        ...


class RunningChild(Protocol):
    """A child session that is open."""

    def steer(self, text: str) -> None:
        """Tell the running turn something after its present step."""
        ...

    def cancel(self) -> None:
        """End the running turn."""
        ...
