"""`patchwright eval compare`: whether one variant solves more than another."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.output.standard_streams import print_json
from packages.evaluation.commands.evaluation_options import Level, Store

_NAMED = "RUN, LABEL, RUN/LABEL, or a file of `eval report -o json`."


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command()(compare)


def compare(
    first: Annotated[str, typer.Argument(metavar="FIRST", help=_NAMED)],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="What is compared with it, named so too.")],
    level: Level = 0.05,
    seed: Annotated[int, typer.Option("--seed", help="Of what is drawn for the interval.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    store: Store = None,
) -> None:
    """Compare two variants on the tasks that both tried: better, worse, or no difference shown."""
    from dataclasses import asdict

    from agent.app_dirs import Home
    from packages.evaluation.analysis.comparison import compare_results
    from packages.evaluation.analysis.run_report import select_results
    from packages.evaluation.commands.evaluation_options import open_store
    from packages.evaluation.output.report_table import print_comparison

    found = open_store(Home.from_environment(), store)
    one, two = select_results(found, first), select_results(found, second)
    comparison = compare_results(first, second, one.results, two.results, seed=seed, level=level)
    if as_json:
        print_json(asdict(comparison))
    else:
        print_comparison(comparison)
