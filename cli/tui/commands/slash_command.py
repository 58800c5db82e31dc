"""What a slash command is."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One slash command. `argument` is how it is written in the help, "" if there is none.

    details: more lines for `/NAME --help`
    choices: what can be given as the argument now, as (text, what it is), for completion; called in a thread
    while_working: may be given while a turn is running
    """

    name: str
    argument: str
    help: str
    run: Callable[[Conversation, str], Coroutine[Any, Any, None]]
    details: str = ""
    choices: Callable[[Conversation], Iterable[tuple[str, str]]] | None = None
    while_working: bool = True

    @property
    def usage(self) -> str:
        """What `/NAME --help` says."""
        lines = [f"{self.name} {self.argument}".strip(), f"  {self.help}"]
        if self.details:
            lines += ["", *(f"  {line}" for line in self.details.split("\n"))]
        if not self.while_working:
            lines += ["", "  Not while a turn is running."]
        return "\n".join(lines)
