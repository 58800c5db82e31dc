"""Type of a slash command."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from cli.tui.conversation.conversation import Conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One slash command. `argument`: its notation in the help, "" if there is none.

    details: more lines for `/NAME --help`
    choices: yields possible arguments for completion, as (text, description); called in a thread
    while_working: allowed while a turn is running; runs_beside: whether this argument is, where not all are
    """

    name: str
    argument: str
    help: str
    run: Callable[[Conversation, str], Coroutine[Any, Any, None]]
    details: str = ""
    choices: Callable[[Conversation], Iterable[tuple[str, str]]] | None = None
    while_working: bool = True
    runs_beside: Callable[[str], bool] = lambda argument: False

    @property
    def usage(self) -> str:
        """Output of `/NAME --help`."""
        lines = [f"{self.name} {self.argument}".strip(), f"  {self.help}"]
        if self.details:
            lines += ["", *(f"  {line}" for line in self.details.split("\n"))]
        if not self.while_working:
            lines += ["", "  Not while a turn is running." if not self.runs_beside("") else _SOME_BESIDE]
        return "\n".join(lines)


_SOME_BESIDE = "  While a turn is running only what does not begin another one."
