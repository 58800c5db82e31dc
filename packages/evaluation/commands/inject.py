"""`patchwright eval inject`: tasks by faults that are put into a project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.exit_codes import Exit
from packages.evaluation.commands.build import Output
from packages.evaluation.commands.mine import Attempts, Seconds, TestSeconds


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command()(inject)


def inject(
    repository: Annotated[Path, typer.Argument(metavar="REPO", help="Repository with passing tests.")] = Path(
        "."
    ),
    output: Output = None,
    revision: Annotated[
        str, typer.Option("--revision", metavar="REV", help="Commit to put faults into.")
    ] = "HEAD",
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many tasks.")] = 20,
    per_file: Annotated[
        int, typer.Option("--per-file", min=1, help="At most so many faults of one file.")
    ] = 3,
    attempts: Attempts = None,
    max_time: Seconds = None,
    test_time: TestSeconds = 120.0,
    seed: Annotated[int, typer.Option("--seed", help="Another one draws other faults.")] = 0,
    hide_tests: Annotated[
        bool, typer.Option("--hide-tests", help="The test files that show the fault are not in the worktree.")
    ] = False,
) -> None:
    """Put faults into a project (in Python), each shown by a test that fails with it and passes without it.

    Faults are operators' (a comparison, a guard, a constant) and those that a repair template would undo.
    """
    from packages.evaluation.commands.mining_setup import prepare_mining
    from packages.evaluation.mining.inject_faults import InjectionLimits, inject_faults
    from sandbox.sanitize import sanitize_text

    folder = output or Path("injected")
    setup = prepare_mining(repository)
    summary = inject_faults(
        repository,
        folder,
        limits=InjectionLimits(
            tasks=limit, per_file=per_file, attempts=attempts, test_seconds=test_time, seconds=max_time
        ),
        revision=revision,
        seed=seed,
        hide_tests=hide_tests,
        access=setup.access,
        report=setup.report,
    )
    print(sanitize_text(f"{folder}: {summary.written} tasks written, {summary.kept} were there already"))
    print(
        f"  {summary.tried} faults tried: {summary.unseen} are shown by no test, {summary.broad} by too many, "
        f"with {summary.unusable} the tests could not be run"
    )
    raise typer.Exit(int(Exit.DONE if summary.written or summary.kept else Exit.NOTHING_TO_DO))
