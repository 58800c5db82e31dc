"""Terminal view of a session's events and deltas: actions as lines, the model's text as streamed Markdown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.events import (
    AttemptEvent,
    CandidateEvent,
    ChildEvent,
    ChildProgress,
    ChoiceEvent,
    End,
    Event,
    MessageEvent,
    ObservationEvent,
    Signal,
    Verification,
)
from agent.model.protocol import Delta, ReasoningDelta, RetryWait, TextDelta
from cli.output.amounts import format_duration
from cli.output.lines.event_lines import LineView
from cli.output.prompt_echo import format_prompt_echo
from cli.output.repeated_start import RepeatedStart
from cli.output.style.paint import get_mark, make_painter, spell_typography
from cli.output.style.terminal import split_columns, truncate_text, wrap_hanging
from cli.tui.frontend import Frontend
from cli.tui.questions.question_frame import print_frame
from cli.tui.screen.action_folds import UNFOLD, ActionFolds
from cli.tui.screen.turn_activity import TurnActivity
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from agent.team.activity import AgentActivity
    from cli.output.lines.attempt_lines import AttemptTable
    from cli.output.markdown.markdown_stream import MarkdownStream

ECHOED_LINES = 12
"""Lines of a prompt that are echoed above the answer; the user knows the rest of a pasted log."""

RECALLED_LINES = 12
"""Lines of the last answer shown in a resumed session, as a reminder (Ctrl-O shows all)."""

THOUGHT_ROWS = 3
"""Last rows of the reasoning that are shown while the model thinks."""

THOUGHT_KEPT = 4_000
"""Characters of the reasoning that are kept for that."""

FLOOD = 4_000
"""Characters since the last redraw with which an answer streams faster than anyone reads."""

FLOODED = 0.2
"""Seconds between two redraws of such an answer: each costs more than the text between them."""


class SessionView:
    """Subscriber to a session. `facts` returns more parts of a turn's summary."""

    def __init__(self, front: Frontend, facts: Callable[[End], Sequence[str]] = lambda end: ()) -> None:
        self._front = front
        terminal = front.terminal
        self._lines = LineView(
            lambda text: self._print_block("lines", text),
            colour=terminal.colour,
            width=terminal.columns,
            unicode=terminal.unicode,
            texts="none" if front.redraws else "all",
            facts=facts,
            wraps=front.redraws,
            rest=UNFOLD if front.redraws else "/export FILE has all",
        )
        self._prose: MarkdownStream | None = None
        self._written = False  # text of the current message was streamed
        self._coming: list[str] = []  # deltas not drawn yet
        self._repeated = RepeatedStart()
        self._is_flooded = False  # more came between the last two redraws than is read in that time
        self._flushing: asyncio.TimerHandle | None = None
        self._last = "note"  # kind of the block printed last; at first the greeting
        self._folds = ActionFolds()
        self._order: dict[str, int] = {}  # of this turn's actions, by call id
        self._attempts: AttemptTable | None = None  # of this turn, until they are printed
        self._agents: AgentActivity | None = None  # from the first one on
        self._thought, self._thinking = "", 0.0  # end of the reasoning, and its start time
        self._muted: tuple[str, ...] = ()  # names of signals that are not printed
        self._activity = TurnActivity(front, self._lines.actions.get_target)

    def use_links(self, link: Callable[[str], str]) -> None:
        """Turn the paths of actions and test runs into links by `link`."""
        self._lines.link = link

    def echo_prompt(self, text: str) -> None:
        """Print the user's text permanently; a long one is cut after `ECHOED_LINES` lines."""
        lines = sanitize_text(text).split("\n")
        shown = lines[:ECHOED_LINES]
        if len(lines) > ECHOED_LINES:
            shown.append(f"({len(lines) - ECHOED_LINES} more lines)")
        terminal = self._front.terminal
        rows = format_prompt_echo(
            "\n".join(shown),
            terminal.columns,
            colour=terminal.colour,
            unicode=terminal.unicode and self._front.redraws,
        )
        self._print_block("said", "".join(f"{row}\n" for row in rows))

    def show_question(self, title: str, text: str, hint: str) -> None:
        """Print a question that the next line answers; all is safe to show."""
        if self._front.redraws:
            self._print_block("asked", print_frame(title, text, hint, self._front.terminal))
        else:
            self.show_note(f"{title}: {text}\n{hint}")

    @contextmanager
    def mute_switches(self) -> Iterator[None]:
        """Do not print changes of mode and approval inside the context: its caller says more."""
        self._muted = ("mode", "approval")
        try:
            yield
        finally:
            self._muted = ()

    def show_note(self, text: str, headings: Collection[str] = ()) -> None:
        """Print a message of the program itself (not of the model): whole lines, safe to show, wrapped to fit.

        headings: lines of the text whose paths become links
        """
        if self._front.redraws:
            columns = self._front.terminal.columns
            rows = []
            for line in text.split("\n"):
                wrapped = wrap_hanging(line, columns, _get_indent(line, columns))
                rows += [self._lines.link(line)] if line in headings and len(wrapped) == 1 else wrapped
            text = "\n".join(rows)
        else:
            text = spell_typography(text)
        self._print_block("note", text if text.endswith("\n") else f"{text}\n")

    def show_last_answer(self, answer: str, end: End | None) -> None:
        """Print the end of an earlier answer, and the outcome of its turn."""
        lines = answer.strip().split("\n")
        if len(lines) > RECALLED_LINES:
            lines = ["…", *lines[-RECALLED_LINES:]]
        if answer.strip():
            self._show_markdown("\n".join(lines)) if self._front.redraws else self.show_note(
                sanitize_text("\n".join(lines))
            )
        if end is not None:
            self._lines.show_event(end)
        self._last = ""

    def show_delta(self, delta: Delta) -> None:
        """Show a delta of a streaming reply."""
        if isinstance(delta, ReasoningDelta):
            self._thinking = self._thinking or time.monotonic()
            self._thought = (self._thought + delta.text)[-THOUGHT_KEPT:]
            self._schedule_draw()
        elif isinstance(delta, TextDelta) and delta.text and not self._lines.is_led:
            text = self._repeated.feed(delta.text)
            if not self._front.redraws:
                self._lines.show_delta(TextDelta(text=text))
            elif text:
                self._coming.append(text)
                self._schedule_draw()
        elif isinstance(delta, RetryWait):
            self._front.show_retry(delta)

    def _schedule_draw(self) -> None:
        if self._flushing is None:
            interval = max(self._front.redraw_interval, FLOODED if self._is_flooded else 0.0)
            self._flushing = asyncio.get_running_loop().call_later(interval, self._flush_deltas)

    def _flush_deltas(self) -> None:
        """Draw the deltas received since the last frame, however small they are, in one redraw."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        text, self._coming = "".join(self._coming), []
        self._is_flooded = len(text) > FLOOD
        if text:
            self._finish_thought()
            self._stream_text(text)
            self._front.show_activity("Writing")
        elif self._thinking:
            self._front.show_activity("Thinking")
            self._show_live()

    def show_event(self, event: Event) -> None:
        """Show the next event of the log, or one of a child session."""
        if isinstance(event, ChildProgress | ChildEvent) and self._track_agents(event):
            return
        if isinstance(event, ChildProgress):
            if self._attempts is not None and self._attempts.handle_event(event):
                self._show_live()
            return
        self._flush_deltas()
        self._lines.width = self._front.terminal.columns
        if isinstance(event, MessageEvent):
            self._finish_thought()
            self._finish_text(event)
            self._repeated.end_reply(event)
            self._order.update({each.id: len(self._order) + n for n, each in enumerate(event.actions)})
        elif isinstance(event, ObservationEvent):
            self._activity.end_action()
            if event.tool in ("finish", "propose") and not event.failed:
                self._show_markdown(str(event.data.get("summary", "")))
        elif self._front.redraws and isinstance(event, AttemptEvent | CandidateEvent | ChoiceEvent):
            self._track_attempts(event)
            return
        if isinstance(event, End):
            self._lines.waited = max(self._lines.waited, self._activity.compute_waited())
            self._print_attempts()
            self._print_folds()
            self._order.clear()
            self._last = ""  # a blank line follows the summary
        folded = isinstance(event, ObservationEvent) and self._fold_event(event)
        is_muted = isinstance(event, Signal) and event.name in self._muted
        if not folded and not is_muted and not self._is_told_in_summary(event):
            self._lines.show_event(event)
        self._activity.handle_event(event)

    def _track_agents(self, event: ChildProgress | ChildEvent) -> bool:
        """Keep a live row for each agent at work; return whether the event was one of an agent."""
        if self._agents is None:
            if not (isinstance(event, ChildEvent) and (event.agent or event.role)):
                return False
            from agent.team.activity import AgentActivity

            self._agents = AgentActivity()
        if not self._agents.handle_event(event) or self._agents.has_role(event.child):
            return False
        if self._front.redraws:
            self._show_live()
        return True

    def _track_attempts(self, event: AttemptEvent | CandidateEvent | ChoiceEvent) -> None:
        """Keep one live row for each attempt, and print all of them with the choice."""
        from cli.output.lines.attempt_lines import AttemptTable, describe_choice

        if self._attempts is None:
            self._attempts = AttemptTable()
        self._attempts.handle_event(event)
        if isinstance(event, ChoiceEvent):
            self._print_attempts()
            terminal = self._front.terminal
            words = truncate_text(" ".join(sanitize_text(describe_choice(event)).split()), terminal.columns)
            self._print_block("lines", make_painter(colour=terminal.colour)(words, "bold") + "\n")
        else:
            self._front.show_activity("Waiting for the attempts")
            self._show_live()

    def _print_attempts(self) -> None:
        attempts, self._attempts = self._attempts, None
        if attempts:
            self._print_block("lines", "".join(f"{row}\n" for row in self._format_attempts(attempts)))

    def _format_attempts(self, attempts: AttemptTable) -> list[str]:
        terminal = self._front.terminal
        paint = make_painter(colour=terminal.colour)
        return attempts.format_rows(terminal.columns - 1, paint, unicode=terminal.unicode)

    def _format_agents(self, agents: AgentActivity) -> list[str]:
        from cli.output.lines.agent_rows import format_working

        terminal = self._front.terminal
        paint = make_painter(colour=terminal.colour)
        return format_working(agents, terminal.columns - 1, paint, unicode=terminal.unicode)

    def show_progress(self, line: str) -> None:
        """Show the last line of a command's output."""
        self._activity.show_progress(line)

    def _is_told_in_summary(self, event: Event) -> bool:
        """Return whether the turn's summary will report the event: that all tests passed, and their number."""
        return (
            self._front.redraws
            and isinstance(event, Verification)
            and event.outcome == "passed"
            and not event.report.get("failures")
        )

    def _fold_event(self, event: ObservationEvent) -> bool:
        """Fold a read-only action with others of its kind; return whether it was folded."""
        target = self._lines.actions.get_target(event.call)
        if not self._front.redraws or not self._folds.add_if_foldable(
            event, target, self._order.get(event.call, 0)
        ):
            return False
        self._lines.actions.handle_event(event)
        self._show_live()
        return True

    def _print_folds(self) -> None:
        """Print the folded actions, before another block."""
        if self._folds:
            rows = self._format_folds()
            self._folds.clear()
            self._print_block("lines", "".join(f"{self._lines.link(row)}\n" for row in rows))

    def _format_folds(self) -> list[str]:
        terminal = self._front.terminal
        paint = make_painter(colour=terminal.colour)
        return self._folds.format_rows(terminal.columns, paint, unicode=terminal.unicode)

    def _finish_thought(self) -> None:
        """Print one line with the duration when the model has stopped thinking."""
        if not self._thinking:
            return
        seconds, self._thinking, self._thought = time.monotonic() - self._thinking, 0.0, ""
        if self._front.redraws:
            terminal = self._front.terminal
            long = format_duration(seconds) if seconds >= 1 else "a moment"
            words = f"{get_mark('quiet', unicode=terminal.unicode)} thought for {long}"
            self._print_block("lines", make_painter(colour=terminal.colour)(words, "dim") + "\n")

    def _show_live(self) -> None:
        self._front.set_live_output(self._draw_live)

    def _draw_live(self) -> str:
        """Return the lines that are not final: folded actions, end of the reasoning, open block of the answer."""
        terminal = self._front.terminal
        parts = []
        if self._folds:
            parts += self._format_folds()
        if self._attempts:
            parts += self._format_attempts(self._attempts)
        if self._agents is not None and self._agents.working:
            parts += self._format_agents(self._agents)
        if self._thought:
            lines = [line for line in sanitize_text(self._thought).splitlines() if line.strip()]
            rows = [
                row for line in lines[-THOUGHT_ROWS:] for row in split_columns(line, terminal.columns - 3)
            ]
            paint = make_painter(colour=terminal.colour)
            parts += [
                paint(f"  {truncate_text(row, terminal.columns - 3)}", "dim") for row in rows[-THOUGHT_ROWS:]
            ]
        if self._prose is not None and (live := self._prose.render_live(max(terminal.rows - 6, 3))):
            gap = "\n" if self._last != "text" else ""
            parts.append(gap + live)
        return "\n".join(parts)

    def _stream_text(self, text: str) -> None:
        prose = self._get_stream()
        self._written = True
        prose.width = self._front.terminal.columns
        self._print_block("text", prose.feed(text))
        self._show_live()

    def _finish_text(self, event: MessageEvent) -> None:
        """Print the rest of a complete message permanently (all of it, if nothing was streamed)."""
        if not self._front.redraws:
            return
        if not self._written and event.text.strip() and not (self._lines.is_led or self._repeated.holds_all):
            self._stream_text(self._repeated.feed(event.text))
        self._written = False
        if self._prose is not None:
            self._print_block("text", self._prose.close())

    def _show_markdown(self, text: str) -> None:
        """Print a complete text as Markdown, if the frontend redraws."""
        if self._front.redraws and text.strip():
            self._stream_text(text)
            self._finish_text(MessageEvent())

    def _print_block(self, kind: str, text: str) -> None:
        """Print a block, with a blank line before a different kind of block if the frontend redraws."""
        if text:
            self._print_folds()
            gap = "\n" if self._front.redraws and kind != self._last else ""
            self._last = kind
            self._front.print(gap + text)

    def _get_stream(self) -> MarkdownStream:
        """Return the Markdown stream, imported with the first answer: drawing the prompt does not wait for it."""
        if self._prose is None:
            from cli.output.markdown.markdown_stream import MarkdownStream

            terminal = self._front.terminal
            self._prose = MarkdownStream(width=terminal.columns, colour=terminal.colour, breaks_code=False)
        return self._prose


def _get_indent(line: str, columns: int) -> str:
    """Return a line's indentation for its wrapped rows; "" if it takes half of the columns or more."""
    width = len(line) - len(line.lstrip(" "))
    return " " * width if width < columns // 2 else ""
