"""`patchwright warm`: a process that is ready for the next start."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

IDLE_MINUTES = 30
START_SECONDS = 10.0


class Action(StrEnum):
    """What is done with the warm process; `serve` is how it starts itself."""

    start = "start"
    state = "state"
    stop = "stop"
    serve = "serve"


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(warm)


def warm(
    action: Annotated[
        Action, typer.Argument(metavar="[start|state|stop]", help="What to do.")
    ] = Action.start,
    idle: Annotated[
        int, typer.Option("--idle", metavar="MINUTES", min=1, help="End it after that long without a start.")
    ] = IDLE_MINUTES,
) -> None:
    """Keep a process ready that starts `run` and git hooks faster.

    It holds the loaded program alone, and starts only what has its own rights (Linux).
    """
    from sandbox.errors import Fault, UserError

    if sys.platform != "linux":
        raise UserError(Fault.CONFIGURATION, "a warm process needs Linux", "Every start works without one.")
    if action is Action.serve:
        raise typer.Exit(serve(idle))
    if action is Action.start:
        raise typer.Exit(start_process(idle))
    told = ask_process("stop" if action is Action.stop else "state")
    if told is None:
        print("there is no warm process")
    elif action is Action.stop:
        print("the warm process ends as soon as nothing runs in it")
    else:
        process, runs, working = told.split()
        print(f"the warm process {process} has started {runs} and runs {working}")


def serve(idle: int) -> int:
    """Be the warm process, until it is not needed any more."""
    from packages.warm.warm_server import AlreadyThere, WarmServer

    os.chdir("/")
    with suppress(AlreadyThere):
        WarmServer(place=find_folder(), idle=idle * 60.0).serve()
    return 0


def start_process(idle: int) -> int:
    """Start the warm process unless there is one. Raises UserError if none comes up."""
    import subprocess
    import time

    from cli.own_command import find_own_command
    from sandbox.errors import Fault, UserError
    from sandbox.fs.private_files import create_private_folder

    if (told := ask_process("state")) is not None:
        print(f"the warm process {told.split()[0]} is there")
        return 0
    create_private_folder(find_folder())
    process = subprocess.Popen(
        [*find_own_command(), "warm", "serve", "--idle", str(idle)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if (told := ask_process("state")) is not None:
            print(
                f"the warm process {told.split()[0]} is ready: `patchwright run` and git hooks use it;"
                f" it ends after {idle} minutes without a start"
            )
            return 0
        time.sleep(0.02)
    raise UserError(
        Fault.CONFIGURATION,
        "the warm process does not come up",
        f"See whether {str(find_folder())!r} can be written.",
    )


def ask_process(word: str) -> str | None:
    """Return what the warm process says to a word, "" for nothing; None if there is none."""
    from patchwright.warm_client import ask, connect

    if (link := connect(str(find_folder()))) is None:
        return None
    with suppress(OSError):
        ask(link, word.encode())
        return link.recv(200).decode().strip()
    return None


def find_folder() -> Path:
    """Return the folder of the warm process's socket."""
    from agent.app_dirs import Home
    from patchwright.warm_client import FOLDER

    return Home.from_environment().data / FOLDER
