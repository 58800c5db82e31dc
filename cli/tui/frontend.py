"""Protocols between a conversation and its terminal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from cli.output.style.terminal import Terminal
from cli.tui.questions.waiting_time import WaitingTime
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.model.protocol import RetryWait


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One answer to a question.

    name: for the program; key: the letter that gives it at once; label: what it does; about: more, where it fits
    line: purpose of a text that is typed with this answer, "" for none; text: what that text begins with
    """

    name: str
    key: str
    label: str
    about: str = ""
    line: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Question to the user, answered by one of its options; all texts but `change` are safe to show.

    title: the question in a few words; what: exactly the command or action to approve
    change: what it would write, a unified diff or lines with signs; as it is, to be shown with all its characters
    why: reason for asking
    otherwise: name of the answer that Esc and a closed terminal give
    free: name of the answer whose line begins with any typed character that is no answer's key; "" for none
    several: number of answers, from the first on, of which more than one can be given
    """

    title: str
    options: tuple[Option, ...]
    otherwise: str
    what: str = ""
    change: str = ""
    why: str = ""
    free: str = ""
    several: int = 0

    @property
    def is_printed(self) -> bool:
        """Whether all of it is printed above the question if it does not fit on the screen."""
        return self.change.count("\n") < PRINTED_CHANGE


PRINTED_CHANGE = 200
"""Lines of a change that are printed without a request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The user's answer: the name of an option, the text typed with it, and the names of the answers marked before."""

    name: str
    text: str = ""
    marked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One row of a picker, safe to show.

    preview: details, computed when the row is selected
    current: it is what is used now; marked, and selected at first
    """

    label: str
    about: str = ""
    preview: Callable[[], str] | None = None
    current: bool = False


Styled = Sequence[tuple[str, str]]
"""A line as (style class of the live region, text)."""


class InputHandler(Protocol):
    """Receiver of a terminal's keys and lines: a conversation, or its placeholder while the session is opened."""

    @property
    def is_working(self) -> bool:
        """Whether a turn or a command is running."""
        ...

    def submit(self, text: str) -> None:
        """Handle a line that the user sent with Enter."""
        ...

    def interrupt(self) -> bool:
        """Stop the step, then the turn; return False if there was nothing to stop."""
        ...

    def pop_queued(self) -> str:
        """Remove and return the last queued text; "" if there is none."""
        ...

    def offer_rewind(self) -> None:
        """Offer to go back to an earlier prompt."""
        ...

    def show_transcript(self) -> None:
        """Show the whole session, nothing folded."""
        ...

    def cycle_access(self) -> None:
        """Go on to the next of plan, ask and auto."""
        ...

    def quit(self) -> None:
        """Leave, ending the work in progress."""
        ...

    async def wait_until_idle(self) -> None:
        """Wait for the work in progress to end."""
        ...

    def format_footer(self, columns: int) -> Styled:
        """Return the line below the prompt, safe to show, of at most this width."""
        ...

    def describe_input(self) -> str:
        """Return what an empty prompt is for, safe to show."""
        ...


class Frontend(Protocol):
    """A terminal: printed text is permanent, the live region below it is redrawn.

    redraws: there is a live region; without it everything has to be printed
    echoes: typed text is already on the screen and remains there
    waiting: time that questions have waited for the person
    """

    redraws: bool
    echoes: bool
    waiting: WaitingTime

    @property
    def redraw_interval(self) -> float:
        """Minimum seconds between two redraws of streamed output."""
        ...

    @property
    def terminal(self) -> Terminal:
        """Present size and capabilities of the terminal."""
        ...

    def print(self, text: str) -> None:
        """Print whole lines, safe to show, permanently."""
        ...

    def set_live_output(self, draw: Callable[[], str] | None) -> None:
        """Set the function that returns the unfinished end of the output; called at each redraw."""
        ...

    def show_activity(self, doing: str) -> None:
        """Show the current activity; "" for none. The time shown with it runs from the first one on."""
        ...

    def show_retry(self, wait: RetryWait) -> None:
        """Show until then when a request is sent again, and why, in place of the activity."""
        ...

    def show_tokens(self, number: int) -> None:
        """Show the tokens that the running turn has used."""
        ...

    def show_last_output(self, line: str) -> None:
        """Show the last line of a running command's output; "" when it has ended."""
        ...

    def show_plan(self, items: Sequence[tuple[str, str]]) -> None:
        """Show the plan: (text, status) of each item."""
        ...

    def show_queued(self, texts: Sequence[str]) -> None:
        """Show the user's texts that are not delivered yet."""
        ...

    def restore_input(self, text: str) -> None:
        """Put text back into the prompt, to edit or send again."""
        ...

    def alert(self, text: str) -> None:
        """Notify a user who may be looking elsewhere that a question waits or a turn has ended."""
        ...

    async def ask(self, question: Question) -> Answer:
        """Return the user's answer; that of `otherwise` if the terminal is gone."""
        ...

    async def pick(
        self, title: str, choices: Sequence[Choice], later: Awaitable[Sequence[Choice]] | None = None
    ) -> int | None:
        """Return the index of the chosen row; None if none was chosen.

        later: more rows, numbered after the others, which are added once they are known
        """
        ...

    async def edit_text(self, text: str, suffix: str) -> str | None:
        """Return a text as the user has changed it in their editor; None where there is none. suffix: of its file"""
        ...

    def send_control(self, sequence: str) -> bool:
        """Send a control sequence that draws nothing to the terminal; return False if it takes none."""
        ...

    async def show_pages(self, title: str, pages: Pages) -> None:
        """Show a long text in a pager, from its end backwards."""
        ...

    def close(self) -> None:
        """End the conversation: `run` returns."""
        ...


class Pages(Protocol):
    """Text too long to render at once, loaded backwards from its end."""

    def load_earlier_lines(self) -> list[str]:
        """Return some of the lines before those loaded so far; [] at the beginning."""
        ...
