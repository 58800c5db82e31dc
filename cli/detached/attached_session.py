"""Terminal view of a detached run: its events and questions, and keys that reach it through its mailbox."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

from agent.events import End, Event, MessageEvent, Prompt, Steer
from agent.exit_codes import Exit
from agent.model.protocol import Delta
from agent.session.session_pruning import is_open
from cli.detached.asked_question import to_question, to_user_question
from cli.detached.log_tail import LogTail
from cli.detached.mailbox import OpenQuestion, post_message, read_question
from cli.detached.reply_stream import ReplyReader
from cli.output.style.paint import Style, make_painter
from cli.output.style.terminal import truncate_text
from cli.tui.frontend import Frontend, Styled
from cli.tui.questions.person_channel import TerminalPerson
from cli.tui.screen.session_view import SessionView
from cli.tui.screen.turn_activity import THINKING
from sandbox.sanitize import sanitize_text

INTERVAL = 0.1
"""Seconds between two looks at the log: an event is seen as soon as a person could react to it."""


class AttachedSession:
    """An `InputHandler`: lines steer the run or answer it, Ctrl-C stops its step, Ctrl-D leaves it running."""

    def __init__(self, front: Frontend, session: Path) -> None:
        self.front = front
        self.exit_code: int = Exit.DONE
        self._session = session
        self._view = SessionView(front)
        self._person = TerminalPerson(front, self._view.show_question)
        self._reply = ReplyReader(session)
        self._sent: list[str] = []
        self._asking: asyncio.Task[None] | None = None
        self._asked = ""
        self._is_over = False

    async def follow(self) -> None:
        """Show the present turn and all that comes, until the run ends or the person leaves."""
        self.show_message(f"attached to {self._session.name}; Ctrl-D leaves it running", "dim")
        with LogTail(self._session) as tail, self._reply:
            for event in _select_present_turn(tail.read_events()):
                self._show_event(event)
            while is_open(self._session):
                self._follow_question()
                self._show_deltas(self._reply.read_deltas())
                await asyncio.sleep(INTERVAL)
                for event in tail.read_events():
                    self._show_event(event)
            for event in tail.read_events():
                self._show_event(event)
        self._is_over = True
        self._drop_question()
        self.front.show_activity("")
        self.show_message(f"the run is over; go on: patchwright resume {self._session.name}", "dim")
        self.front.close()

    def show_message(self, text: str, style: Style | None = None) -> None:
        """Print a line of the program itself."""
        text = sanitize_text(text)
        terminal = self.front.terminal
        self._view.show_note(make_painter(colour=terminal.colour)(text, style) if style else text)

    @property
    def is_working(self) -> bool:
        return not self._is_over

    def submit(self, text: str) -> None:
        text = text.strip()
        if text in ("/quit", "/exit", "/detach"):
            self.quit()
        elif text.startswith("/") and "/" not in text.split()[0][1:]:
            self.show_message(
                "commands need the session itself; /detach leaves the run, Ctrl-C stops it", "yellow"
            )
        elif text and self._person.take_answer(text):
            self._view.echo_prompt(text)
        elif text:
            self._sent.append(text)
            self.front.show_queued(self._sent)
            post_message(self._session, {"kind": "steer", "text": text})

    def interrupt(self) -> bool:
        if self._is_over:
            return False
        post_message(self._session, {"kind": "interrupt"})
        self.front.show_activity("Stopping this step (Ctrl-C again ends the turn)")
        return True

    def pop_queued(self) -> str:
        return ""  # it is the run's already

    def offer_rewind(self) -> None:
        self.show_message("a run is rewound when it is over", "dim")

    def show_transcript(self) -> None:
        self.show_message(f"all of it: patchwright logs {self._session.name}", "dim")

    def cycle_access(self) -> None:
        self.show_message("the mode of a run cannot be changed", "dim")

    def quit(self) -> None:
        """Leave the run as it is."""
        self._drop_question()
        self.front.close()

    async def wait_until_idle(self) -> None:
        """Return at once: leaving does not wait for the run."""

    def format_footer(self, columns: int) -> Styled:
        return [("class:dim", truncate_text(f"{self._session.name} · Ctrl-D detaches", columns))]

    def describe_input(self) -> str:
        return "your answer" if self._person.is_asking else "say more; it is told after this step"

    def _show_event(self, event: Event) -> None:
        if isinstance(event, Prompt):
            self._view.echo_prompt(event.text)
            self.front.show_activity(THINKING)
        if isinstance(event, Steer):
            if event.text in self._sent:
                self._sent.remove(event.text)
                self.front.show_queued(self._sent)
                self._view.echo_prompt(event.text)
            return
        if isinstance(event, End):
            self.exit_code = event.exit_code
        if isinstance(event, MessageEvent | End):
            self._show_deltas(self._reply.complete_reply(event))
        self._view.show_event(event)

    def _show_deltas(self, deltas: Iterable[Delta]) -> None:
        for each in deltas:
            self._view.show_delta(each)

    def _follow_question(self) -> None:
        """Put the question that the run waits with, or take it away where somebody else has answered it."""
        question = read_question(self._session)
        if (question.id if question is not None else "") == self._asked:
            return
        self._drop_question()
        if question is not None:
            self._asked = question.id
            self._asking = asyncio.create_task(self._ask(question))

    def _drop_question(self) -> None:
        self._asked = ""
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    async def _ask(self, question: OpenQuestion) -> None:
        answer: dict[str, str] = {"kind": "answer", "question": question.id}
        if question.kind == "question":
            answer["text"] = await self._person.answer(to_user_question(question))
        else:
            self.front.alert("an action waits for your answer")
            given = await self.front.ask(to_question(question))
            answer |= {"name": given.name, "text": given.text}
        post_message(self._session, answer)
        self.front.show_activity(THINKING)


def _select_present_turn(events: Iterator[Event]) -> list[Event]:
    """Return the events from the last prompt on."""
    found: list[Event] = []
    for event in events:
        if isinstance(event, Prompt):
            found = []
        found.append(event)
    return found
