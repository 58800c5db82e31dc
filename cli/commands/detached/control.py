"""`patchwright stop`, `wait` and `answer`: end a background run, wait for its exit code, answer its question."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.exit_codes import Exit
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from cli.detached.mailbox import OpenQuestion

SessionId = Annotated[
    str, typer.Argument(metavar="ID", help="The session, or the beginning or end of its id.")
]

OnlyRun = Annotated[
    str,
    typer.Argument(
        metavar="[ID]",
        help="The session, or the beginning or end of its id; the only run of this project if not given.",
    ),
]

PATIENCE = 20.0
"""Seconds that a run may take to end: its verification is cut off, and its log is complete."""


def add(app: typer.Typer) -> None:
    """Add the commands to the program's."""
    app.command()(stop)
    app.command()(wait)
    app.command()(answer)


def stop(session: OnlyRun = "") -> None:
    """End a background run; `patchwright resume` goes on with it."""
    raise typer.Exit(stop_run(session))


def wait(
    session: OnlyRun = "",
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0, help="Give up after so many seconds (exit code 4).")
    ] = None,
) -> None:
    """Wait for the end of a run; the exit code is the run's."""
    raise typer.Exit(wait_for_run(session, timeout))


def answer(
    session: SessionId,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="[TEXT]", help="`y`, `n`, a number or words; without it the question is shown."
        ),
    ] = None,
) -> None:
    """Answer the question that a background run waits with."""
    raise typer.Exit(answer_run(session, text))


def stop_run(session: str) -> int:
    """End the process of a run as Ctrl-C would; wait until its log is closed."""
    from cli.detached.run_record import send_signal, wait_for_end

    folder = find_run(session)
    send_signal(folder, signal.SIGTERM)
    if not wait_for_end(folder, PATIENCE):
        raise UserError(
            Fault.USAGE,
            f"session {folder.name!r} has not ended after {PATIENCE:g} s",
            "Look at it: patchwright logs -f ID",
        )
    return int(Exit.DONE)


def wait_for_run(session: str, timeout: float | None) -> int:
    """Wait until no process has the session open; return the exit code of its last turn, 130 if it died."""
    from agent.session.session_preview import preview_session
    from cli.detached.run_record import wait_for_end
    from cli.detached.run_state import read_last_end

    folder = find_run(session, ended=True)
    if not wait_for_end(folder, timeout):
        return int(Exit.LIMIT)
    end = read_last_end(folder)
    if end is None or preview_session(folder).cut_off:
        print(f"patchwright: the run died; go on: patchwright resume {folder.name}", file=sys.stderr)
        return int(Exit.INTERRUPTED)
    return end.exit_code


def answer_run(session: str, text: str | None) -> int:
    """Show the question of a run, or answer it. Raises UserError if there is none."""
    from cli.detached.mailbox import post_message, read_question

    folder = find_run(session)
    question = read_question(folder)
    if question is None:
        raise UserError(
            Fault.USAGE, f"session {folder.name!r} waits with no question", "See what runs: patchwright ps"
        )
    if text is None:
        print(_format_question(question))
        return int(Exit.DONE)
    post_message(folder, {"kind": "answer", "question": question.id, **_read_answer(question, text)})
    return int(Exit.DONE)


def _read_answer(question: OpenQuestion, text: str) -> dict[str, str]:
    if question.kind == "question":
        return {"text": text}
    from cli.detached.asked_question import to_question
    from cli.tui.screen.plain_frontend import parse_answer

    given = parse_answer(text, to_question(question))
    return {"name": given.name, "text": given.text}


def _format_question(question: OpenQuestion) -> str:
    from cli.detached.asked_question import format_options
    from sandbox.sanitize import sanitize_text

    parts = [question.title, question.what, question.change, f"why: {question.why}" if question.why else ""]
    return sanitize_text("\n".join([*filter(None, parts), *format_options(question)]))


def find_run(session: str, *, ended: bool = False) -> Path:
    """Return the folder of a session, or of the only run of the project in the working folder if none is named.

    ended: the newest background run counts where none is at work. Raises UserError if there is none, or several
    """
    from agent.app_dirs import Home
    from cli.detached.run_state import find_only_run, find_session

    home = Home.from_environment()
    return find_session(home, session) if session else find_only_run(home, ended=ended)
