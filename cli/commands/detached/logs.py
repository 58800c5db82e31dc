"""`patchwright logs`: the steps of a session, as lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.exit_codes import Exit
from cli.commands.detached.control import OnlyRun, find_run

if TYPE_CHECKING:
    from agent.events import Event

    _Show = Callable[[Event], None]
    _GoesOn = Callable[[], bool]

INTERVAL = 0.1
"""Seconds between two looks at the log."""


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(logs)


def logs(
    session: OnlyRun = "",
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the run ends.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The events, as JSON lines.")] = False,
) -> None:
    """Print the steps of a session, also while it runs."""
    raise typer.Exit(print_logs(session, follow=follow, as_json=as_json))


def print_logs(session: str, *, follow: bool, as_json: bool) -> int:
    """Print the events of a session; with `follow`, those that come until no process has it open."""
    from agent.session.session_pruning import is_open

    folder = find_run(session, ended=True)
    show = _make_printer(as_json=as_json)
    try:
        _print_events(folder, show, lambda: follow and is_open(folder))
    except KeyboardInterrupt:
        return int(Exit.INTERRUPTED)
    return int(Exit.DONE)


def _print_events(folder: Path, show: _Show, goes_on: _GoesOn) -> None:
    from cli.detached.log_tail import LogTail

    with LogTail(folder) as tail:
        while True:
            is_open = goes_on()  # asked before the last look, so that nothing is missed
            for event in tail.read_events():
                show(event)
            if not is_open:
                return
            time.sleep(INTERVAL)


def _make_printer(*, as_json: bool) -> _Show:
    from agent.events import Prompt, render_event
    from cli.output.lines.event_lines import LineView
    from cli.output.standard_streams import write_line
    from cli.output.style.terminal import Terminal
    from sandbox.sanitize import sanitize_text

    if as_json:
        return lambda event: write_line(render_event(event))

    def write(text: str) -> None:
        write_line(text.encode("utf-8", "replace"))

    terminal = Terminal.from_stream(sys.stdout)
    view = LineView(
        write, colour=terminal.colour, width=terminal.columns, unicode=terminal.unicode, texts="all"
    )

    def show(event: Event) -> None:
        if isinstance(event, Prompt):
            write(sanitize_text(f"> {event.text}") + "\n")
        view.show_event(event)

    return show
