"""Events in full: nothing folded, and only very long outputs truncated."""

from __future__ import annotations

from collections.abc import Iterator

from agent.events import DecisionEvent, Event, MessageEvent, ObservationEvent, Prompt, Steer
from cli.output.diff.diff_layout import DiffLayout
from cli.output.diff.diff_view import format_diff
from cli.output.lines.event_lines import LineView
from cli.output.prompt_echo import format_prompt_echo
from cli.output.style.paint import make_painter
from cli.output.style.terminal import split_columns
from sandbox.sanitize import sanitize_text

MOST = 2_000
"""Maximum lines of one observation or diff."""


class FullEventView:
    """Formatter of events as lines of at most `width` columns, with colours if `colour` is set."""

    def __init__(self, *, width: int, colour: bool, unicode: bool = True) -> None:
        self._width = width
        self._colour = colour
        self._unicode = unicode
        self._paint = make_painter(colour=colour)
        self._layout = DiffLayout(colour=colour, width=width, indent=2, unicode=unicode, fill="spaces")
        self._written: list[str] = []
        self._view = LineView(
            self._written.append, colour=colour, width=width, unicode=unicode, texts="none", brief=True
        )

    def format_event(self, event: Event) -> list[str]:
        """Return all lines of an event."""
        return list(self._iterate_lines(event))

    def _iterate_lines(self, event: Event) -> Iterator[str]:
        match event:
            case Steer(by="harness"):
                yield from (self._paint(f"  {row}", "dim") for row in self._wrap_rows(event.text, 2))
            case Prompt() | Steer():
                yield ""
                yield from format_prompt_echo(
                    sanitize_text(event.text),
                    self._width,
                    colour=self._colour,
                    unicode=self._unicode,
                    pads=True,
                )
                yield ""
                self._format_heading(event)
            case MessageEvent():
                if event.reasoning.strip():
                    yield from (
                        self._paint(f"  {row}", "dim") for row in self._wrap_rows(event.reasoning.strip(), 2)
                    )
                if event.text.strip():
                    yield from self._format_markdown(event.text)
                self._format_heading(event)
            case ObservationEvent():
                yield from self._format_heading(event)
                diff = event.data.get("diff")
                if diff:
                    yield from format_diff(str(diff), self._layout, limit=MOST)
                elif event.tool != "plan":
                    rows = self._wrap_rows(event.text, 4)
                    yield from (self._paint(f"    {row}", "dim") for row in rows[:MOST])
                    if len(rows) > MOST:
                        yield self._paint(f"    ({len(rows) - MOST} more lines)", "dim")
            case DecisionEvent():
                yield from (
                    f"  {row}" for row in self._wrap_rows(f"{event.verdict}: {event.reason} ({event.by})", 2)
                )
            case _:
                yield from self._format_heading(event)

    def _format_heading(self, event: Event) -> list[str]:
        self._view.show_event(event)
        lines = "".join(self._written).rstrip("\n").split("\n") if self._written else []
        self._written.clear()
        return lines

    def _format_markdown(self, text: str) -> list[str]:
        from cli.output.markdown.markdown_stream import MarkdownStream

        stream = MarkdownStream(width=self._width, colour=self._colour)
        return ["", *f"{stream.feed(text)}{stream.close()}".rstrip("\n").split("\n"), ""]

    def _wrap_rows(self, text: str, indent: int) -> list[str]:
        lines = sanitize_text(text).replace("\t", "    ").split("\n")
        return [row for line in lines for row in split_columns(line, self._width - indent)]
