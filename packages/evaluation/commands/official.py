"""`patchwright eval official`: what the official SWE-bench harness says of a set of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.exit_codes import Exit


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command()(official)


def official(
    reports: Annotated[
        list[Path],
        typer.Argument(metavar="REPORT…", help="Report of a run, of an instance, or a folder with these."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="The verdict of each instance, as JSON.")] = False,
) -> None:
    """Read reports of the official SWE-bench harness: how many instances each set of predictions resolved."""
    raise typer.Exit(print_official_reports(reports, as_json=as_json))


def print_official_reports(reports: list[Path], *, as_json: bool) -> int:
    """Print a line for each report, the rate with its interval. Returns the exit code. Raises UserError."""
    import json
    from collections import Counter

    from packages.evaluation.statistics.intervals import compute_wilson_interval
    from packages.evaluation.suites.projects.swebench_report import read_report
    from sandbox.sanitize import sanitize_text

    found = {str(path): read_report(path) for path in reports}
    if as_json:
        print(json.dumps(found))
        return int(Exit.DONE)
    for name, verdicts in found.items():
        counts = Counter(verdicts.values())
        low, high = compute_wilson_interval(len(verdicts), counts["resolved"])
        others = ", ".join(
            f"{number} {verdict}" for verdict, number in counts.most_common() if verdict != "resolved"
        )
        rate = f"{100 * counts['resolved'] / len(verdicts):.1f}% ({100 * low:.0f}–{100 * high:.0f})"
        print(
            sanitize_text(
                f"{name}: resolved {counts['resolved']}/{len(verdicts)}, {rate}; {others or 'no other'}"
            )
        )
    return int(Exit.DONE)
