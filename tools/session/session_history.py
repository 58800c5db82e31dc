"""Protocol of the session's own history, as the tools search it."""

from __future__ import annotations

from typing import Protocol


class SessionHistory(Protocol):
    """The session's own history, as the tools see it. Called in threads."""

    def read_step(self, ref: str) -> str | None:
        """The step of an event ("e12") as text; None if there is none."""
        ...

    def can_forget(self, ref: str) -> bool:
        """Whether an event is a step or an output, so that it can be left out; what people said cannot."""
        ...

    def search(self, words: str, limit: int) -> list[tuple[str, str]]:
        """The best passages for some words, as (reference, text), best first."""
        ...
