"""`patchwright symbols`, `localize` and `map`: queries of the code index."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import FailingTests, Folder


def add(app: typer.Typer) -> None:
    """Declare the commands of this theme."""
    app.command()(symbols)
    app.command()(localize)
    app.command(name="map")(map_)


def symbols(
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION",
            help="outline, find, show, references, callers, callees, imports, similar or tests.",
        ),
    ],
    target: Annotated[
        str, typer.Argument(metavar="[TARGET]", help="A name, a path, or for `similar` a text.")
    ] = "",
    folder: Folder = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Ask where a name is defined, used or called.

    Or which names a file defines and imports, and which tests its change may affect.
    """
    from cli.commands.offline.index_queries import query_symbols

    raise typer.Exit(query_symbols(folder, action, target, as_json=as_json))


def localize(
    text: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="An issue, a stack trace; `-` reads standard input."),
    ] = None,
    issue: Annotated[
        Path | None, typer.Option("--issue", metavar="FILE", help="Read the text from a file.")
    ] = None,
    tests: FailingTests = None,
    folder: Folder = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say where in the code a text or failing tests point to.

    Which files and functions a text speaks of, or which lines make tests fail. Needs no model.
    """
    if tests:
        if text is not None or issue is not None:
            raise typer.BadParameter("--tests and a text: give one of them")
        from cli.commands.offline.repair_tests import localize_failing_tests

        raise typer.Exit(localize_failing_tests(folder, tests, as_json=as_json))
    from cli.commands.offline.index_queries import localize_issue

    raise typer.Exit(localize_issue(folder, text, issue, as_json=as_json))


def map_(
    text: Annotated[
        str, typer.Argument(metavar="[TEXT]", help="Topic; the whole project if not given.")
    ] = "",
    tokens: Annotated[int, typer.Option("--tokens", min=100, help="How long it may get, about.")] = 2000,
    folder: Folder = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the main files and their symbols that others use."""
    from cli.commands.offline.index_queries import show_map

    raise typer.Exit(show_map(folder, text, tokens, as_json=as_json))
