"""A session's events and deltas on a terminal: actions as lines, the model's text as streamed Markdown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.events import (
    ActionEvent,
    End,
    Event,
    MessageEvent,
    ObservationEvent,
    Prompt,
    Verification,
)
from agent.model.base import Delta, ReasoningDelta, TextDelta
from cli.render.lines import LineView
from cli.render.paint import painter
from cli.repl.front import Front
from sandbox.inert import inert

if TYPE_CHECKING:
    from cli.render.markdown import MarkdownStream

ECHOED_LINES = 12
"""Lines of a prompt that are repeated above the answer: a pasted log is known to the one who pasted it."""


class View:
    """Subscribes to a session. `model` names who is being waited for."""

    def __init__(self, front: Front, model: Callable[[], str]) -> None:
        self._front = front
        self._model = model
        terminal = front.terminal
        self._lines = LineView(
            lambda text: self._put("lines", text),
            colour=terminal.colour,
            width=terminal.columns,
            unicode=terminal.unicode,
            texts="none" if front.redraws else "all",
        )
        self._prose: MarkdownStream | None = None
        self._written = False  # text of the present message has come as deltas
        self._last = ""  # what kind of thing was printed last

    def said(self, text: str) -> None:
        """What the user sent, as it stays in the scrollback; a long paste by its beginning."""
        lines = inert(text).split("\n")
        shown = lines[:ECHOED_LINES]
        if len(lines) > ECHOED_LINES:
            shown.append(f"({len(lines) - ECHOED_LINES} more lines)")
        paint = painter(colour=self._front.terminal.colour)
        marked = [f"{'  ' if index else '> '}{line}" for index, line in enumerate(shown)]
        self._put("said", "".join(paint(line, "cyan") + "\n" for line in marked))

    def note(self, text: str) -> None:
        """An answer of the program itself (not of the model): whole lines, safe to show."""
        self._put("note", text if text.endswith("\n") else f"{text}\n")

    def delta(self, delta: Delta) -> None:
        """A piece of a reply as it streams."""
        if isinstance(delta, ReasoningDelta):
            self._front.busy(f"{self._model()} is thinking")
        elif isinstance(delta, TextDelta) and delta.text:
            if not self._front.redraws:
                self._lines.delta(delta)
                return
            self._write(delta.text)
            self._front.busy(f"{self._model()} is writing")

    def event(self, event: Event) -> None:
        """The next event of the log."""
        self._lines.width = self._front.terminal.columns
        if isinstance(event, MessageEvent):
            self._finish_text(event)
        elif isinstance(event, ObservationEvent) and event.tool == "finish" and not event.failed:
            self._say(str(event.data.get("summary", "")))
        if isinstance(event, End):
            self._last = ""  # the summary stands by itself
        self._lines.event(event)
        self._activity(event)

    def _activity(self, event: Event) -> None:
        match event:
            case ActionEvent():
                target = self._lines.actions.target(event.call)
                self._front.busy(inert(f"{event.tool} {target}".strip()).replace("\n", " "))
            case Prompt() | ObservationEvent() | MessageEvent():
                self._front.busy(f"waiting for {self._model()}")
            case Verification():
                self._front.busy("finishing")
            case End():
                self._front.busy("")

    def _write(self, text: str) -> None:
        prose, terminal = self._stream(), self._front.terminal
        self._written = True
        prose.width = terminal.columns
        self._put("text", prose.feed(text))
        live = prose.live(terminal.rows)
        self._front.live(f"\n{live}" if live and self._last != "text" else live)

    def _finish_text(self, event: MessageEvent) -> None:
        """The message is whole: what was still live is printed for good (all, if nothing was streamed)."""
        if not self._front.redraws:
            return
        if not self._written and event.text.strip():
            self._write(event.text)
        self._written = False
        if self._prose is not None:
            rest = self._prose.close()
            self._front.live("")
            self._put("text", rest)

    def _say(self, text: str) -> None:
        """A text that is complete, as Markdown where that can be drawn."""
        if self._front.redraws and text.strip():
            self._write(text)
            self._finish_text(MessageEvent())

    def _put(self, kind: str, text: str) -> None:
        """Print, with a blank line between things of different kinds where the screen is ours to lay out."""
        if text:
            gap = "\n" if self._front.redraws and kind != self._last else ""
            self._last = kind
            self._front.print(gap + text)

    def _stream(self) -> MarkdownStream:
        """Imported with the first words of the first answer: drawing the prompt does not wait for it."""
        if self._prose is None:
            from cli.render.markdown import MarkdownStream

            terminal = self._front.terminal
            self._prose = MarkdownStream(width=terminal.columns, colour=terminal.colour)
        return self._prose
