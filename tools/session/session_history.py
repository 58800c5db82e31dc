"""Protocol of the session's own history, as the tools search it."""

from __future__ import annotations

from typing import Protocol


class SessionHistory(Protocol):
    """The session's own history, as the tools see it. Called in threads."""

    def read_step(self, ref: str) -> str | None:
        """Return the step of an event ("e12") as text; None if there is none."""
        ...

    def can_forget(self, ref: str) -> bool:
        """Return whether an event is a step or an output, which can be masked; user messages cannot."""
        ...

    def search(self, words: str, limit: int) -> list[tuple[str, str]]:
        """Return the best passages for some words, as (reference, text), best first."""
        ...
