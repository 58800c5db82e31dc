"""`patchwright eval gate`: fail in CI where results fall behind a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from packages.evaluation.commands.evaluation_options import Level, Store


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command()(gate)


def gate(
    baseline: Annotated[
        Path,
        typer.Option("--baseline", metavar="FILE", help="Report of an earlier run: eval report -o json."),
    ],
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help="Run, label, or RUN/LABEL to judge; the newest if missing.")
    ] = "",
    allow: Annotated[int, typer.Option("--allow", min=0, help="So many tasks may be solved no longer.")] = 0,
    level: Level = 0.05,
    store: Store = None,
) -> None:
    """Hold a run against a baseline: exit code 0 if it may pass, 13 if not.

    It may not if a task that the baseline always solved is never solved now, if the rate has fallen by more than
    chance explains, or if a task has no result.
    """
    from agent.app_dirs import Home
    from agent.exit_codes import Exit
    from packages.evaluation.analysis.gate import judge_results
    from packages.evaluation.analysis.run_report import pick_variant, read_report_file, select_results
    from packages.evaluation.commands.evaluation_options import open_store
    from packages.evaluation.output.report_table import print_comparison
    from sandbox.sanitize import sanitize_text

    by_label = read_report_file(baseline)
    found = select_results(open_store(Home.from_environment(), store), run)
    label = found.results[0].variant if found.results else ""
    before = pick_variant(by_label, label if label in by_label else "", str(baseline))
    decision = judge_results(label or run, before.results, found.results, allowed=allow, level=level)
    for each in decision.reasons:
        print(sanitize_text(f"gate: {each}"))
    print_comparison(decision.comparison)
    raise typer.Exit(int(Exit.DONE if decision.passed else Exit.NOT_ACHIEVED))
