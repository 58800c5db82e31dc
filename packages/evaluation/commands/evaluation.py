"""`patchwright eval`: the group of its commands, one module each."""

from __future__ import annotations

import typer

from packages.evaluation.commands import (
    build,
    check,
    compare,
    compose,
    gate,
    inject,
    list_runs,
    mine,
    official,
    report,
    run_trials,
    vary,
)

_MODULES = (build, mine, inject, compose, vary, check, run_trials, report, compare, gate, list_runs, official)
"""In the order of the help."""


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    group = typer.Typer(
        rich_markup_mode=None,
        no_args_is_help=True,
        help="Measure models, prompts and strategies on suites of tasks.",
    )
    for each in _MODULES:
        each.add_to(group)
    app.add_typer(group, name="eval")
