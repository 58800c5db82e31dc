"""The subcommands of `patchwright`, one module a theme.

A module has a function `add(app)`, which declares its commands; what they do is imported when they are called.
The order here is the order in `patchwright --help`.
"""

from __future__ import annotations

import typer

from cli.commands import (
    code,
    committing,
    context,
    editing,
    history,
    hook,
    kernel,
    policy,
    project,
    repairing,
    replaying,
    session,
    settings,
    task,
)

THEMES = (
    task,
    session,
    replaying,
    context,
    editing,
    repairing,
    history,
    committing,
    hook,
    code,
    kernel,
    project,
    policy,
    settings,
)


def add_all(app: typer.Typer) -> None:
    """Declare every subcommand."""
    for theme in THEMES:
        theme.add(app)
