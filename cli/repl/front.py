"""What a conversation needs of the terminal it is held in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from cli.render.terminal import Terminal

Answer = Literal["no", "once", "always"]


class Front(Protocol):
    """A terminal: what is printed stays for good, the live part below it is redrawn.

    redraws: the live part exists; without it everything has to be printed
    """

    redraws: bool

    @property
    def terminal(self) -> Terminal:
        """Its present size and abilities."""
        ...

    def print(self, text: str) -> None:
        """Whole lines, safe to show, that stay."""
        ...

    def live(self, text: str) -> None:
        """The unfinished end of the output; each call replaces the last one's text."""
        ...

    def busy(self, doing: str) -> None:
        """What is being done now; "" when nothing is."""
        ...

    def queued(self, texts: Sequence[str]) -> None:
        """What the user has said that is not delivered yet."""
        ...

    def refill(self, text: str) -> None:
        """Give text back to the user, to edit or send again."""
        ...

    async def ask(self, question: str, always: str) -> Answer:
        """The user's answer; no when there is nobody any more. always: what that answer would store, or ""."""
        ...

    def close(self) -> None:
        """End the conversation: `run` returns."""
        ...
