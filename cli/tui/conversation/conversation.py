"""Protocol of a conversation: the part that slash commands, plan mode and questions may use."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from agent.app_dirs import Home
from agent.events import End
from agent.session_settings import StrategySettings
from agent.turn.runtime import Runtime
from cli.output.style.paint import Style
from cli.settings.settings_types import Settings
from cli.tui.conversation.session_history import SessionHistory
from cli.tui.frontend import Frontend
from cli.tui.screen.session_view import SessionView


class PlanMode(Protocol):
    """Switch for the mode in which nothing is changed. `on`: the session is in it; was_on: it was when it was left"""

    @property
    def on(self) -> bool: ...

    @property
    def was_on(self) -> bool: ...

    async def enter(self) -> None:
        """Deny every change until `leave`."""
        ...

    async def leave(self) -> None:
        """Return to the mode before."""
        ...


class Conversation(Protocol):
    """One session in one terminal, as its commands see it.

    note: text that the model gets with the next prompt
    """

    front: Frontend
    runtime: Runtime
    home: Home
    settings: Settings
    view: SessionView
    note: str

    @property
    def planning(self) -> PlanMode:
        """Plan mode of this conversation."""
        ...

    @property
    def history(self) -> SessionHistory:
        """Changes and cost of the turns so far."""
        ...

    def show_message(self, text: str, style: Style | None = None) -> None:
        """Print lines of the program itself; untrusted text is sanitized."""
        ...

    async def run_turn(
        self, prompt: str | None, *, shown: str | None = None, strategy: StrategySettings | None = None
    ) -> End:
        """Run a turn as if the user had typed its prompt (None: go on with the interrupted one); return its end.

        shown: text to print instead of the prompt; strategy: makes the turn, None for the loop alone
        """
        ...

    def use_model(self, name: str) -> AbstractAsyncContextManager[None]:
        """Use another model inside the context, then the session's own again."""
        ...

    async def switch_model(self, name: str) -> None:
        """Use another model from the next turn on. Raises UserError."""
        ...

    def switch_session(self, session: str) -> None:
        """Leave this session for another one, "" for a new one."""
        ...

    def quit(self) -> None:
        """Leave, ending the work in progress."""
        ...
