"""`patchwright run`: a prompt in, an answer out, and an exit code for the outcome."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import Flags, Folder, Input, NoCommit, Output, OutputOption, takes_flags
from cli.commands.run.one_shot import run_driven, run_one_shot
from cli.commands.run.run_options import (
    Answers,
    Apply,
    Attempts,
    Background,
    BudgetOption,
    DetachedReport,
    FromIssue,
    Goal,
    MaxTurns,
    Ray,
    RayEnv,
    Requirements,
    Schema,
    StrategyName,
    Until,
    read_attempt_options,
    read_goal_options,
)


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(run)


@takes_flags
def run(
    *,
    prompt: Annotated[
        str | None, typer.Argument(metavar="PROMPT", help="The task; `-` or nothing reads standard input.")
    ] = None,
    option_prompt: Annotated[
        str | None, typer.Option("-p", "--prompt", metavar="PROMPT", hidden=True)
    ] = None,
    folder: Folder = Path("."),
    model: Annotated[Flags, "model api_base"],
    output: OutputOption = Output.text,
    place: Annotated[Flags, "mode sandbox test_command"],
    no_commit: NoCommit = False,
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="Continue this session instead of a new one.")
    ] = "",
    limits: Annotated[Flags, "actions lead max_steps max_cost max_time max_tokens"],
    input_: Annotated[
        Input, typer.Option("--input", help="`stream-json`: read JSON lines on standard input.")
    ] = Input.text,
    schema: Schema = None,
    requirements: Requirements = None,
    attempts: Attempts = None,
    strategy: StrategyName = None,
    ray: Ray = None,
    env: RayEnv = None,
    budget: BudgetOption = None,
    answers: Answers = None,
    apply: Apply = False,
    goal: Goal = False,
    until: Until = None,
    max_turns: MaxTurns = None,
    from_issue: FromIssue = None,
    background: Background = False,
    detached: DetachedReport = None,
) -> None:
    """Do one task without asking; the exit code says how it went."""
    flags = {**model, **place, **limits}
    if prompt is not None and option_prompt is not None:
        raise typer.BadParameter("two prompts: give one, as PROMPT or with -p")
    text = prompt if prompt is not None else option_prompt
    excludes = input_ is Input.stream_json or schema is not None or bool(session)
    cluster = read_attempt_options(attempts, strategy, ray, env, excludes=excludes)
    if apply and input_ is Input.stream_json:
        raise typer.BadParameter("--apply cannot be combined with --input stream-json")
    if input_ is Input.stream_json and (answers or background or budget or from_issue is not None):
        raise typer.BadParameter(
            "--answers, --background, --budget and --from-issue cannot be combined with --input stream-json"
        )
    request = read_goal_options(goal=goal, until=until, max_turns=max_turns, schema=schema, input_=input_)
    if input_ is Input.stream_json:
        if text is not None or schema is not None:
            raise typer.BadParameter(
                "--input stream-json takes neither PROMPT nor --output-schema: send prompts as JSON lines"
            )
        raise typer.Exit(
            run_driven(
                folder,
                flags,
                output=output.value,
                commit=not no_commit,
                session=session,
                requirements=requirements,
            )
        )
    if background:
        from cli.commands.detached.start import start_in_background

        raise typer.Exit(start_in_background(prompt=text))
    raise typer.Exit(
        run_one_shot(
            folder,
            text,
            flags,
            output=output.value,
            commit=not no_commit,
            session=session,
            schema=schema,
            requirements=requirements,
            attempts=attempts,
            strategy=strategy,
            cluster=cluster,
            budget=budget,
            answers=answers,
            apply_doubtful=apply,
            goal=request,
            detached=detached,
            from_issue=from_issue,
        )
    )
