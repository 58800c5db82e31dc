"""`patchwright eval mine`: tasks out of a repository's history."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.exit_codes import Exit
from packages.evaluation.commands.build import HalfOption, Output


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command()(mine)


Attempts = Annotated[
    int | None, typer.Option("--attempts", min=1, help="Try at most so many, each with runs of tests.")
]
Seconds = Annotated[
    float | None, typer.Option("--max-time", min=1, help="Begin no further attempt after so many seconds.")
]
TestSeconds = Annotated[float, typer.Option("--test-time", min=1, help="Seconds for one run of tests.")]


def mine(
    repository: Annotated[
        Path, typer.Argument(metavar="REPO", help="Repository whose history is searched.")
    ] = Path("."),
    output: Output = None,
    revision: Annotated[
        str, typer.Option("--revision", metavar="REV", help="Begin at this commit.")
    ] = "HEAD",
    newest: Annotated[int | None, typer.Option("--newest", min=1, help="Look at so many commits.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Stop after so many new tasks.")] = None,
    attempts: Attempts = None,
    max_time: Seconds = None,
    test_time: TestSeconds = 120.0,
    half: Annotated[HalfOption | None, typer.Option("--half", help="Only commits of this half.")] = None,
    show_tests: Annotated[
        bool, typer.Option("--show-tests", help="The failing tests are in the worktree, not hidden.")
    ] = False,
) -> None:
    """Make tasks of a project's own fixes: commits whose tests fail before and pass after.

    The tests run in the sandbox, with the project's runner. A later call goes on behind the commits that were tried.
    """
    from packages.evaluation.commands.mining_setup import prepare_mining
    from packages.evaluation.mining.mine_fixes import MiningLimits, mine_fixes
    from sandbox.sanitize import sanitize_text

    folder = output or Path("mined")
    setup = prepare_mining(repository)
    summary = mine_fixes(
        repository,
        folder,
        limits=MiningLimits(
            newest=newest, attempts=attempts, tasks=limit, test_seconds=test_time, seconds=max_time
        ),
        revision=revision,
        half=None if half is None else half.value,
        show_tests=show_tests,
        access=setup.access,
        report=setup.report,
    )
    print(sanitize_text(f"{folder}: {summary.found} new tasks of {summary.tried} fixes that were tried"))
    for reason, number in sorted(summary.rejected.items(), key=lambda item: -item[1]):
        print(sanitize_text(f"  {number} left out: {reason}"))
    if not summary.candidates:
        print("No commit changes programs and tests and says that it mends something.")
    raise typer.Exit(int(Exit.DONE if summary.found or summary.known else Exit.NOTHING_TO_DO))
