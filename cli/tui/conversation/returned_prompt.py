"""The line that began a turn, given back to be edited if the turn is stopped before anything was done for it."""

from __future__ import annotations

from agent.events import ActionEvent, End, Event
from cli.tui.frontend import Frontend


class ReturnedPrompt:
    """The person's newest prompt or command, until an action is taken for it, or a goal keeps it.

    Afterwards it stays where it is: sent again, it would ask for what is partly done.
    """

    def __init__(self, front: Frontend) -> None:
        self._front = front
        self._text = ""

    def hold(self, text: str) -> None:
        """Note a line that is sent; "" for none."""
        self._text = text

    def handle_event(self, event: Event) -> None:
        """Forget the line with the first action, and at the end; give it back if it was interrupted before."""
        if isinstance(event, End) and event.outcome == "interrupted" and self._text:
            self._front.restore_input(self._text)
        if isinstance(event, ActionEvent | End) or event.kind == "goal":
            self._text = ""
