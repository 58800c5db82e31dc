"""What a conversation needs of the terminal it is held in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from cli.output.style.terminal import Terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something that a person is to agree to: all texts are safe to show.

    what: exactly what will run or change
    why: why that is asked
    rules: patterns of commands that a lasting "yes" would store; () where nothing wider than this is wise
    """

    what: str
    why: str
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the person said.

    kind: allowed once, for the session, by a rule that is stored; or not
    word: what the model is to be told with a no
    rules: as the person left them
    """

    kind: Literal["once", "session", "rule", "no"]
    word: str = ""
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One row of a list to choose from, safe to show. `preview`: more of it, made when it is looked at."""

    label: str
    about: str = ""
    preview: Callable[[], str] | None = None


class InputHandler(Protocol):
    """Whom a terminal hands keys and lines to: a conversation, or what stands in for it until it is there."""

    @property
    def is_working(self) -> bool:
        """Whether something is being done."""
        ...

    def submit(self, text: str) -> None:
        """The user pressed Enter."""
        ...

    def interrupt(self) -> bool:
        """Stop the step, then the turn; False if there was nothing to stop."""
        ...

    def pop_queued(self) -> str:
        """Take back the last thing that is queued; "" if nothing is."""
        ...

    def offer_rewind(self) -> None:
        """Go back to an earlier prompt."""
        ...

    def show_transcript(self) -> None:
        """Show the whole of what was folded."""
        ...

    def toggle_plan_mode(self) -> None:
        """Plan mode on or off."""
        ...

    def quit(self) -> None:
        """Leave, ending what is running."""
        ...

    async def wait_until_idle(self) -> None:
        """Wait for what is running to reach its end."""
        ...

    def format_footer(self) -> str:
        """What stands below the prompt, safe to show."""
        ...


class Frontend(Protocol):
    """A terminal: what is printed stays for good, the live part below it is redrawn.

    redraws: the live part exists; without it everything has to be printed
    echoes: what is typed stands there already, and stays
    """

    redraws: bool
    echoes: bool

    @property
    def redraw_interval(self) -> float:
        """Seconds that should pass between two drawings of what changes all the time."""
        ...

    @property
    def terminal(self) -> Terminal:
        """Its present size and abilities."""
        ...

    def print(self, text: str) -> None:
        """Whole lines, safe to show, that stay."""
        ...

    def set_live_output(self, draw: Callable[[], str] | None) -> None:
        """The unfinished end of the output: asked for at each redraw."""
        ...

    def show_activity(self, doing: str) -> None:
        """What is being done now; "" when nothing is."""
        ...

    def show_last_output(self, line: str) -> None:
        """The last thing that a running command has written; "" when it has ended."""
        ...

    def show_plan(self, items: Sequence[tuple[str, str]]) -> None:
        """The plan as it stands: (text, status) of each item."""
        ...

    def show_queued(self, texts: Sequence[str]) -> None:
        """What the user has said that is not delivered yet."""
        ...

    def restore_input(self, text: str) -> None:
        """Give text back to the user, to edit or send again."""
        ...

    def alert(self, text: str) -> None:
        """Call the person who may be looking elsewhere: it waits, or it is done."""
        ...

    async def ask(self, question: Question) -> Answer:
        """The person's answer; no when there is nobody any more."""
        ...

    async def pick(self, title: str, choices: Sequence[Choice]) -> int | None:
        """The row that the person chose; None if none."""
        ...

    async def show_pages(self, title: str, pages: Pages) -> None:
        """A long text to scroll through, page by page from its end."""
        ...

    def close(self) -> None:
        """End the conversation: `run` returns."""
        ...


class Pages(Protocol):
    """A text that is too long to be made at once: the lines before those that were asked for already."""

    def load_earlier_lines(self) -> list[str]:
        """Some more lines in front of all those given so far; [] at the beginning."""
        ...
