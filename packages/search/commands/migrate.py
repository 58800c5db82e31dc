"""`patchwright migrate`: one instruction for many files, one file at a time, each decided by votes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.app_dirs import Home
from agent.exit_codes import Exit
from cli.commands.options import Flags, Folder, NoCommit, takes_flags
from cli.output.standard_streams import write_error, write_line
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

PLACE = "{file}"
"""Stands in a check for the path of the file (as in packages/search/microsteps/step_actions.py)."""

if TYPE_CHECKING:
    from agent.events import End
    from agent.turn.runtime import Runtime
    from cli.invocation import Invocation
    from packages.search.microsteps.forecast import Forecast
    from packages.search.microsteps.ledger import Ledger
    from packages.search.microsteps.migration import Migration


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(migrate)


@takes_flags
def migrate(
    *,
    instruction: Annotated[
        str, typer.Argument(metavar="INSTRUCTION", help="The change to make in each file.")
    ],
    files: Annotated[
        list[str],
        typer.Option("--files", metavar="GLOB", help="Files to change, e.g. 'src/**/*.py'; repeatable."),
    ],
    check: Annotated[
        str,
        typer.Option(
            "--check",
            metavar="CMD",
            help="Command that has to succeed after each file; {file} is its path. Without --tests, also the tests.",
        ),
    ] = "",
    folder: Folder = Path("."),
    model: Annotated[Flags, "model api_base"],
    k: Annotated[
        int | None,
        typer.Option("--k", metavar="N", min=1, max=50, help="Votes that an answer has to be ahead by."),
    ] = None,
    script: Annotated[
        bool, typer.Option("--script/--no-script", help="Let a program do it where the model offers one.")
    ] = True,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Begin without asking after the estimate.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Forget the votes and steps of an earlier run.")
    ] = False,
    place: Annotated[Flags, "sandbox test_command"],
    no_commit: NoCommit = False,
    limits: Annotated[Flags, "max_cost max_time max_tokens"],
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Make one small change in each of many files.

    Each file is shown alone to several voters; the answer that is ahead of all others by k is written and checked
    before the next. k and the cost are estimated from a sample first. Run it again to go on where it was stopped.
    """
    flags = {**model, **place, **limits}
    if tests := flags.pop("test_command", "") or (check if PLACE not in check else ""):
        flags["test_command"] = tests
    order = _Order(
        instruction=instruction,
        globs=tuple(files),
        check=check,
        k=k,
        uses_script=script,
        yes=yes,
        restart=restart,
        as_json=as_json,
    )
    raise typer.Exit(run_migration(folder, order, flags, commit=not no_commit))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """A migration as requested on the command line."""

    instruction: str
    globs: Sequence[str]
    check: str
    k: int | None
    uses_script: bool
    yes: bool
    restart: bool
    as_json: bool


def run_migration(folder: Path, order: _Order, flags: Mapping[str, Any], *, commit: bool) -> int:
    """Run a migration to its end. Returns the exit code; with JSON, every path prints one object."""
    from cli.commands.run.final_event import run_with_final_event
    from cli.invocation import Invocation

    invocation = Invocation(folder=folder, flags=flags, commit=commit, offer_commit=commit)
    output = "json" if order.as_json else "text"
    return run_with_final_event(output, lambda: _run(invocation, order))


def _run(invocation: Invocation, order: _Order) -> int:
    from sandbox.process.bounded_end import run_loop

    return run_loop(_migrate(invocation, order))


async def _migrate(invocation: Invocation, order: _Order) -> int:
    from agent.model.protocol import UNPAID
    from agent.model_selection import ModelSelection
    from agent.workspace_root import find_workspace_root
    from cli.invocation import load_invocation_settings
    from packages.search.microsteps.ledger import Ledger

    home = Home.from_environment()
    settings = load_invocation_settings(invocation, home).session
    models = ModelSelection(settings=settings, env=invocation_environment(), cache=home.cache)
    if models.main_name == UNPAID[0]:
        raise UserError(
            Fault.CONFIGURATION,
            "migrate needs a model to vote: name one with --model, or set OPENAI_API_KEY or ANTHROPIC_API_KEY",
        )
    root, _ = find_workspace_root(invocation.folder, need_git=invocation.offer_commit)
    ledger = Ledger.locate(
        home.get_project_folder(root), order.instruction, *sorted(order.globs), order.check, models.main_name
    )
    with ledger:
        if order.restart:
            ledger.clear()
        return await _run_with_ledger(invocation, order, ledger, home)


def invocation_environment() -> Mapping[str, str]:
    """Return the variables that hold keys and addresses of models."""
    import os

    return os.environ


async def _run_with_ledger(invocation: Invocation, order: _Order, ledger: Ledger, home: Home) -> int:
    import asyncio
    from dataclasses import replace

    from cli.commands.run.final_event import list_end_signals
    from cli.invocation import load_invocation_settings, make_runtime
    from packages.search.microsteps.file_choice import list_matching_files
    from packages.search.microsteps.migration import Migration

    unfinished = _find_unfinished_session(ledger, invocation.folder, home)
    invocation = replace(invocation, session=unfinished)
    settings = load_invocation_settings(invocation, home)
    runtime = make_runtime(invocation, home, settings.session)
    try:
        _warn(runtime, order)
        files = await list_matching_files(runtime.workspace, order.globs)
        migration = Migration(
            runtime=runtime,
            ledger=ledger,
            instruction=order.instruction,
            files=files,
            check=order.check,
            k=order.k,
            uses_script=order.uses_script,
            approve=lambda forecast: _approve(forecast, order, settings.session.limits.max_cost),
            tell=(lambda line: None) if order.as_json else _tell,
        )
        if not unfinished and not migration.has_work:
            return _report(migration, None, order)
        ledger.set_fact("session", runtime.session.id)
        ledger.set_fact("ended", None)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, runtime.interrupt)
        for number in list_end_signals():
            loop.add_signal_handler(number, runtime.stop)
        prompt = None if unfinished else f"{order.instruction}\n\nIn each of: {' '.join(order.globs)}"
        end = await runtime.run_turn(prompt, migration)
        ledger.set_fact("ended", end.exit_code)
        return _report(migration, end, order)
    finally:
        await runtime.close()


_GOES_ON = (
    Exit.LIMIT,
    Exit.DENIED,
    Exit.INTERRUPTED,
    Exit.MODEL_UNREACHABLE,
    Exit.CREDENTIALS,
    Exit.CONFIGURATION,
    Exit.STORAGE_FULL,
    Exit.INTERNAL,
)
"""Ends after which the same command goes on in the same session, as after a kill."""


def _find_unfinished_session(ledger: Ledger, folder: Path, home: Home) -> str:
    """Return the session that a kill or a limit interrupted, "" if there is none."""
    from agent.workspace_root import find_workspace_root

    session, ended = ledger.facts.get("session"), ledger.facts.get("ended")
    root, _ = find_workspace_root(folder, need_git=False)
    if not session or (ended is not None and ended not in _GOES_ON):
        return ""
    return session if (home.get_project_folder(root) / "sessions" / session).is_dir() else ""


def _warn(runtime: Runtime, order: _Order) -> None:
    from cli.output.notices import read_resume_notice

    if order.as_json:
        return
    for warning in filter(
        None, (runtime.workspace.sandbox.warning, sanitize_text(read_resume_notice(runtime)))
    ):
        write_error(f"patchwright: {warning}\n")


def _approve(forecast: Forecast, order: _Order, max_cost: float | None) -> bool:
    """Show the forecast, and ask where a person is there."""
    if not order.as_json:
        _tell(forecast.describe())
        if max_cost is not None and forecast.dollars is not None and forecast.dollars > max_cost:
            _tell(f"that is more than --max-cost ${max_cost:.2f}: it will stop there, and can go on later")
    if order.yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm("Begin?", default=False, err=True)


def _tell(line: str) -> None:
    write_error(f"patchwright: {sanitize_text(line)}\n")


def _report(migration: Migration, end: End | None, order: _Order) -> int:
    """Print the result. Returns the exit code. end: None where nothing was to be done"""
    from agent.events import encode_line

    data = migration.summarize()
    code = Exit(end.exit_code) if end is not None else migration.find_earlier_exit()
    if order.as_json:
        more = {"outcome": code.label, "exit_code": int(code), "session": migration.runtime.session.id}
        if end is not None:
            more |= {"summary": end.summary, "verification": end.verification, "commit": end.commit}
        write_line(encode_line({**more, **data}))
        return code
    counts = f"{len(data['changed'])} changed, {data['unchanged']} unchanged, {len(data['failed'])} failed"
    left = f", {data['left']} left" if data["left"] else ""
    lines = [f"{counts}{left}; {data['votes']} votes"]
    lines += [f"{each['path']}: {each['reason']}" for each in data["failed"]]
    if end is None:
        lines.append("All files were done before. To begin anew: --restart")
    elif end.verification or end.commit:
        lines += filter(None, [end.verification, f"commit {end.commit[:10]}" if end.commit else ""])
    if end is not None and code in _GOES_ON:
        lines.append(f"stopped: {end.summary}. Run the same command again to go on.")
    write_line(sanitize_text("\n".join(lines)).encode("utf-8", "replace") + b"\n")
    return code
