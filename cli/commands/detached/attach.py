"""`patchwright attach`: look at a background run and steer it, as if it ran in this terminal."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cli.commands.detached.control import OnlyRun, find_run
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.app_dirs import Home


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(attach)


def attach(session: OnlyRun = "") -> None:
    """Look at a background run; Ctrl-D leaves it running."""
    raise typer.Exit(attach_to_run(session))


def attach_to_run(session: str) -> int:
    """Show a run until it ends (its exit code) or the person leaves (0). Raises UserError if it does not run."""
    from agent.app_dirs import Home
    from agent.session.session_pruning import is_open
    from cli.detached.run_record import read_record
    from sandbox.process.bounded_end import run_loop

    home = Home.from_environment()
    folder = find_run(session)
    if not is_open(folder):
        raise UserError(
            Fault.USAGE,
            f"session {folder.name!r} does not run",
            f"Go on with it: patchwright resume {folder.name}",
        )
    if read_record(folder) is None:
        raise UserError(
            Fault.USAGE,
            f"session {folder.name!r} has a terminal of its own",
            f"Look at it: patchwright logs -f {folder.name}",
        )
    return run_loop(_attach(home, folder))


async def _attach(home: Home, folder: Path) -> int:
    import asyncio

    from cli.detached.attached_session import AttachedSession
    from cli.output.style.terminal import Terminal
    from cli.output.style.theme import choose_theme
    from cli.settings.terminal_settings import read_terminal_settings
    from cli.tui.screen.plain_frontend import PlainFrontend, open_plain_frontend

    settings = read_terminal_settings(home.config, plain=False)
    choose_theme(settings.theme)
    terminal = Terminal.from_stream(sys.stdout)
    if terminal.tty and not terminal.dumb and sys.stdin.isatty() and not settings.plain:
        from cli.tui.screen.screen import Screen

        front: Screen | PlainFrontend = Screen(
            history=home.data / "history",
            completer=lambda: None,
            keys=settings.keys,
            vi=settings.editing == "vi",
            alert=settings.notify,
            pause=settings.pause,
        )
    else:
        front = open_plain_frontend()
    host = AttachedSession(front, folder)
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, host.quit)

    async def follow() -> None:
        await front.drawn.wait()
        await host.follow()

    following = asyncio.create_task(follow())
    try:
        await front.run(host)
    finally:
        is_over = following.done()
        following.cancel()
        await asyncio.wait([following])
    if is_over and (error := following.exception()) is not None:
        raise error
    return host.exit_code if is_over else 0
