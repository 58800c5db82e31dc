"""Start of the command line that was given as a detached run."""

from __future__ import annotations

import sys

from agent.exit_codes import Exit
from cli.detached.launch import start_detached
from cli.output.standard_streams import write_error, write_line

BACKGROUND = "--background"


def start_in_background(prompt: str | None) -> int:
    """Start this command line without its terminal, and print the session's id. Returns the exit code.

    prompt: as given; without one it is read from standard input here, since the run has none
    """
    from cli.commands.run.prompt_input import read_piped

    words = [word for word in sys.argv[1:] if word != BACKGROUND]
    started = start_detached(words, read_piped(prompt))
    if not started.session:
        write_error(started.errors)
        return started.code
    started.process.returncode = 0  # it goes on when this process has ended, and is nobody's child then
    write_line(started.session.encode() + b"\n")
    if sys.stderr.isatty():
        write_error(
            "it works in the background: patchwright attach shows it, logs what it did; stop ends it\n"
        )
    return int(Exit.DONE)
