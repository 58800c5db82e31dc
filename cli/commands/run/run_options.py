"""Options of `patchwright run` that no other command has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands.options import Input, check_command_line
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from cli.invocation import ClusterRequest, GoalRequest

Schema = Annotated[
    Path | None,
    typer.Option("--output-schema", metavar="FILE", help="JSON schema that the final answer has to fit."),
]
Requirements = Annotated[
    Path | None,
    typer.Option(
        "--requirements",
        metavar="FILE",
        help="Requirements that the work has to meet, checked at its end.",
    ),
]
Attempts = Annotated[
    int | None,
    typer.Option(
        "--attempts",
        metavar="N",
        min=1,
        max=16,
        help="Try it N times, each in its own worktree; apply the patch that tests rate best.",
    ),
]
StrategyName = Annotated[
    str | None,
    typer.Option(
        "--strategy",
        metavar="NAME",
        help="How it is worked on; `patchwright strategies` lists them.",
    ),
]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help="Make the attempts on a Ray cluster: `auto`, or HOST:PORT of its head.",
    ),
]
RayEnv = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME", help="With --ray: variable that attempts have; repeatable."),
]


def check_budget(text: str | None) -> str | None:
    """Return a budget that can be read. Raises UserError"""
    from agent.budget.budget_text import FORMS, parse_budget

    try:
        if text is not None and parse_budget(text) == parse_budget(""):
            raise ValueError(repr(text))
    except ValueError as error:
        raise UserError(Fault.USAGE, f"--budget is no budget: {error}", f"It is like this: {FORMS}") from None
    return text


BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="AMOUNT",
        help="Limit of all that the turn starts: 5 (dollars), 200k tokens, 10m; or several.",
        callback=lambda value: check_budget(value),
    ),
]
Answers = Annotated[
    Path | None,
    typer.Option("--answers", metavar="FILE", help="Answers to the model's questions: a line each, or JSON."),
]
Apply = Annotated[
    bool,
    typer.Option("--apply", help="Without a model: write a change even if it may only fit the tests."),
]
Goal = Annotated[
    bool,
    typer.Option("--goal", help="Work on over turns until the requirements of the task hold."),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="COMMAND", help="Work on over turns until this command exits with 0."),
]
MaxTurns = Annotated[
    int | None, typer.Option("--max-turns", metavar="N", min=1, help="Most turns of a goal (20).")
]
FromIssue = Annotated[
    str | None,
    typer.Option("--from-issue", metavar="N|URL", help="Resolve an issue; PROMPT says what else you want."),
]
Background = Annotated[
    bool,
    typer.Option(
        "--background", help="Run without this terminal; print the session's id. See `patchwright ps`."
    ),
]
DetachedReport = Annotated[str | None, typer.Option("--detached-report", metavar="FD", hidden=True)]


def read_attempt_options(
    attempts: int | None, strategy: str | None, ray: str | None, env: list[str] | None, *, excludes: bool
) -> ClusterRequest | None:
    """Return the cluster that makes the attempts, None for this machine. Raises BadParameter.

    excludes: other options allow neither attempts nor a strategy
    """
    makes_several = bool(attempts and attempts > 1)
    for option, is_given in (("--attempts", makes_several), ("--strategy", bool(strategy))):
        if is_given and excludes:
            raise typer.BadParameter(
                f"{option} cannot be combined with --input, --output-schema or --session"
            )
    if ray is None and not env:
        return None
    if ray is None or not (makes_several or strategy):
        raise typer.BadParameter("--env needs --ray, and --ray needs --attempts or --strategy")
    from cli.invocation import ClusterRequest

    return ClusterRequest(address=ray, env=tuple(env or ()))


def read_goal_options(
    *, goal: bool, until: str | None, max_turns: int | None, schema: Path | None, input_: Input
) -> GoalRequest | None:
    """Return the goal that the options ask for, None for one turn. Raises BadParameter."""
    if not goal and until is None:
        if max_turns is not None:
            raise typer.BadParameter("--max-turns needs --goal or --until")
        return None
    if input_ is Input.stream_json or schema is not None:
        raise typer.BadParameter("a goal cannot be combined with --input or --output-schema")
    if until is not None and not until.strip():
        raise typer.BadParameter("--until is empty: name a command")
    from cli.invocation import GoalRequest

    return GoalRequest(check=check_command_line(until, "--until") or "", max_turns=max_turns)
