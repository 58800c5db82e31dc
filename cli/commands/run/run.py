"""`patchwright run`, `resume` and `sessions`: run tasks, resume and list sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import (
    Actions,
    ApiBase,
    Folder,
    Input,
    MaxCost,
    MaxSteps,
    MaxTime,
    MaxTokens,
    Mode,
    Model,
    NoCommit,
    Output,
    OutputOption,
    Sandbox,
    Tests,
    collect_flags,
)


def add(app: typer.Typer) -> None:
    """Add these commands to the program's."""
    for each in (run, resume, sessions):
        app.command()(each)


def run(
    prompt: Annotated[
        str | None, typer.Argument(metavar="PROMPT", help="The task; `-` or nothing reads standard input.")
    ] = None,
    option_prompt: Annotated[
        str | None, typer.Option("-p", "--prompt", metavar="PROMPT", hidden=True)
    ] = None,
    folder: Folder = Path("."),
    model: Model = None,
    api_base: ApiBase = None,
    output: OutputOption = Output.text,
    mode: Mode = None,
    sandbox: Sandbox = None,
    tests: Tests = None,
    no_commit: NoCommit = False,
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="Go on in this session instead of a new one.")
    ] = "",
    actions: Actions = None,
    max_steps: MaxSteps = None,
    max_cost: MaxCost = None,
    max_time: MaxTime = None,
    max_tokens: MaxTokens = None,
    input_: Annotated[
        Input, typer.Option("--input", help="`stream-json`: read JSON lines on standard input.")
    ] = Input.text,
    schema: Annotated[
        Path | None,
        typer.Option("--output-schema", metavar="FILE", help="JSON schema that the final answer has to fit."),
    ] = None,
    attempts: Annotated[
        int,
        typer.Option(
            "--attempts",
            metavar="N",
            min=1,
            max=16,
            help="Try it N times, each in its own worktree; apply the patch that tests rate best.",
        ),
    ] = 1,
    apply: Annotated[
        bool,
        typer.Option("--apply", help="Without a model: write a change even if it may only fit the tests."),
    ] = False,
) -> None:
    """Do one task without asking; the exit code says how it went."""
    from cli.commands.run.one_shot import run_one_shot

    flags = collect_flags(
        model=model,
        api_base=api_base,
        mode=mode,
        sandbox=sandbox,
        test_command=tests,
        actions=actions,
        max_steps=max_steps,
        max_cost=max_cost,
        max_time=max_time,
        max_tokens=max_tokens,
    )
    if prompt is not None and option_prompt is not None:
        raise typer.BadParameter("two prompts: give one, as PROMPT or with -p")
    text = prompt if prompt is not None else option_prompt
    if attempts > 1 and (input_ is Input.stream_json or schema is not None or session):
        raise typer.BadParameter("--attempts goes with neither --input, --output-schema nor --session")
    if apply and input_ is Input.stream_json:
        raise typer.BadParameter("--apply does not go with --input")
    if input_ is Input.stream_json:
        from cli.commands.run.one_shot import run_driven

        if text is not None or schema is not None:
            raise typer.BadParameter("with --input stream-json prompts come as lines, without a schema")
        raise typer.Exit(
            run_driven(folder, flags, output=output.value, commit=not no_commit, session=session)
        )
    commit = not no_commit
    raise typer.Exit(
        run_one_shot(
            folder,
            text,
            flags,
            output=output.value,
            commit=commit,
            session=session,
            schema=schema,
            attempts=attempts,
            apply_doubtful=apply,
        )
    )


def resume(
    session: Annotated[
        str, typer.Argument(metavar="[ID]", help="The session; the newest of this project if not given.")
    ] = "",
    prompt: Annotated[
        str | None, typer.Option("-p", "--prompt", metavar="PROMPT", help="Say this, instead of going on.")
    ] = None,
    folder: Folder = Path("."),
    model: Model = None,
    api_base: ApiBase = None,
    output: OutputOption = Output.text,
    mode: Mode = None,
    sandbox: Sandbox = None,
    tests: Tests = None,
    no_commit: NoCommit = False,
) -> None:
    """Continue a session.

    An unfinished turn is continued, a finished one waits for your next words.
    """
    from cli.commands.run.resume import resume_session

    flags = collect_flags(model=model, api_base=api_base, mode=mode, sandbox=sandbox, test_command=tests)
    raise typer.Exit(
        resume_session(folder, session, prompt, flags, output=output.value, commit=not no_commit)
    )


def sessions(
    folder: Folder = Path("."),
    all_projects: Annotated[bool, typer.Option("--all", help="Of every project.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON lines.")] = False,
) -> None:
    """List the sessions of this project, the newest first."""
    from cli.commands.run.resume import list_sessions

    raise typer.Exit(list_sessions(folder, all_projects=all_projects, as_json=as_json))
