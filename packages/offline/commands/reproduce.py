"""`patchwright reproduce`: a script that fails for the reason that a bug report tells."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.exit_codes import Exit
from cli.commands.options import ApiBase, Folder, Model, collect_flags
from packages.offline.commands.repair import open_workspace, parse_seconds
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from packages.offline.reproduction.machine import WriteDraft
    from packages.offline.reproduction.result import Reproduction
    from tools.core.workspace import Workspace

MOST_TEXT = 1 << 20
"""Bytes of a report that are read."""


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(reproduce)


def reproduce(
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="A bug report; `-` reads standard input.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Read the report from a file.")
    ] = None,
    folder: Folder = Path("."),
    write_test: Annotated[
        str,
        typer.Option("--write-test", metavar="PATH", help="Keep the script there, as a test of the project."),
    ] = "",
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Time to try: 60s, 5m.")] = "4m",
    model: Model = None,
    api_base: ApiBase = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Reproduce a bug that is told in words.

    Builds a script from the report's own code that fails in the told way, each time, through the suspected code.
    With --model, a model writes one if the report holds none. Everything runs in the sandbox.
    """
    flags = collect_flags(model=model, api_base=api_base)
    raise typer.Exit(
        reproduce_report(
            folder,
            read_report(text, file),
            write_test=write_test,
            budget=budget,
            flags=flags,
            as_json=as_json,
        )
    )


def reproduce_report(
    folder: Path, report: str, *, write_test: str, budget: str, flags: dict[str, object], as_json: bool
) -> int:
    """Reproduce a report and print the script. Returns DONE, NOT_ACHIEVED, or NO_TEST_RUNNER if no Python runs it.

    flags: those of a model; without one, only the report's own code is used. Raises UserError.
    """
    import json

    from packages.offline.reproduction.machine import reproduce as run_machine
    from sandbox.process.bounded_end import run_loop
    from tools.testing.project_files import TestsNotRunnable

    seconds = parse_seconds(budget)
    with open_workspace(folder) as at:
        if write_test:
            _check_target(at, write_test)
        try:
            found = run_loop(
                _run_with_model(at, report, seconds, flags)
                if flags
                else run_machine(at, report, seconds=seconds)
            )
        except TestsNotRunnable as problem:
            raise UserError(Fault.NO_TEST_RUNNER, str(problem)) from None
        if write_test and found.is_reproduced:
            _write_test(at, write_test, found.script)
    if as_json:
        print(json.dumps({**found.as_data(), "written": write_test if found.is_reproduced else ""}))
    else:
        print(sanitize_text(found.format_text()))
        if write_test and found.is_reproduced:
            print(f"written: {write_test}")
    return Exit.DONE if found.is_reproduced else Exit.NOT_ACHIEVED


def read_report(text: str | None, file: Path | None) -> str:
    """Return the text of a report. Raises UserError."""
    if (text is None) == (file is None):
        raise UserError(Fault.USAGE, "reproduce: give a TEXT or --file FILE", "`-` reads standard input.")
    if file is not None:
        try:
            with file.open("rb") as stream:
                report = stream.read(MOST_TEXT).decode("utf-8", "replace")
        except OSError as error:
            raise UserError(Fault.USAGE, f"cannot read {str(file)!r}: {error.strerror}") from None
    else:
        report = sys.stdin.read(MOST_TEXT) if text == "-" else text or ""
    if not report.strip():
        raise UserError(Fault.USAGE, "reproduce: the report is empty", "Give the text of an issue.")
    return report


async def _run_with_model(
    at: Workspace, report: str, seconds: float, flags: dict[str, object]
) -> Reproduction:
    from agent.app_dirs import Home
    from agent.context.profile.profiles import choose_profile
    from agent.model.protocol import Request, UserMessage
    from agent.model.routing.roles import Role
    from agent.model_selection import ModelSelection
    from cli.settings.layers import load_settings
    from packages.offline.reproduction.machine import reproduce as run_machine
    from packages.offline.reproduction.model_writer import ModelWriter
    from sandbox.secrets.child_environment import redact

    home = Home.from_environment()
    settings = load_settings(home, at.root, flags).session
    side = ModelSelection(settings=settings, env=os.environ, cache=home.cache).create_side_calls()
    writer = side.roles.get_model(Role.MAIN)

    async def ask(prompt: str) -> str:
        request = Request(system=SYSTEM, messages=[UserMessage(text=redact(prompt))], max_output=4_000)
        reply = await side.request_reply(
            writer, request, purpose="reproduction", role=Role.MAIN, patience=180.0
        )
        return reply.text

    write: WriteDraft = ModelWriter(text=report, ask=ask).write_draft
    try:
        is_small = choose_profile("auto", writer.window, writer.name).name != "generic"
        return await run_machine(at, report, write_draft=write, wants_told=is_small, seconds=seconds)
    finally:
        await writer.close()
        await side.roles.close()


SYSTEM = "You reproduce bugs in Python projects. You answer with one code block."


def _check_target(at: Workspace, path: str) -> None:
    if not path.endswith(".py"):
        raise UserError(
            Fault.USAGE, f"--write-test {path!r} is no Python file", "For example tests/test_bug.py."
        )
    if at.files.is_file(path):
        raise UserError(Fault.USAGE, f"--write-test: {path!r} exists already", "Name a new file.")


def _write_test(at: Workspace, path: str, script: str) -> None:
    at.files.write(path, script.encode("utf-8"))
