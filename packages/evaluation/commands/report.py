"""`patchwright eval report`: the figures of a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from packages.evaluation.commands.evaluation_options import ReportFile, ReportFormat, ReportOutput, Store

if TYPE_CHECKING:
    from packages.evaluation.analysis.comparison import Comparison
    from packages.evaluation.analysis.run_report import RunReport
    from packages.evaluation.runs.result_store import ResultStore, RunRecord
    from packages.evaluation.runs.trial_result import TrialResult

SUFFIXES = {
    ".json": ReportFormat.json,
    ".xml": ReportFormat.junit,
    ".html": ReportFormat.html,
    ".md": ReportFormat.markdown,
}


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command()(report)


def report(
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help="Beginning of its id; the newest if missing.")
    ] = "",
    output: ReportOutput = ReportFormat.text,
    to: ReportFile = None,
    store: Store = None,
) -> None:
    """Print the figures of a run: rates with intervals, cost, time, failures, flaky tasks."""
    from agent.app_dirs import Home
    from packages.evaluation.commands.evaluation_options import open_store
    from packages.evaluation.runs.result_store import select_run

    found = open_store(Home.from_environment(), store)
    write_report(found, select_run(found.list_runs(), run), output, to)


def write_report(
    store: ResultStore,
    run: RunRecord,
    output: ReportFormat,
    to: Path | None,
    invalid: Iterable[TrialResult] = (),
) -> None:
    """Print a report, or write it to a file. Raises UserError. invalid: see `RunReport`"""
    from packages.evaluation.analysis.run_report import build_report
    from packages.evaluation.output.report_table import print_comparison, print_report
    from sandbox.errors import translate_write_errors

    found = build_report(store, run, invalid)
    if to is not None:
        kind = find_format(to)
        with translate_write_errors(str(to)):
            to.write_text(render_report(found, kind), "utf-8", errors="replace")
    if output is ReportFormat.text:
        print_report(found)
        for each in compare_variants(found):
            print_comparison(each)
    else:
        print(render_report(found, output), end="")


def find_format(to: Path) -> ReportFormat:
    """Return the format of a report file by its suffix. Raises UserError."""
    from sandbox.errors import Fault, UserError

    kind = SUFFIXES.get(to.suffix.lower())
    if kind is None:
        raise UserError(
            Fault.USAGE, f"no format for {to.name!r}", f"Let the name end with one of: {', '.join(SUFFIXES)}."
        )
    return kind


def render_report(report: RunReport, kind: ReportFormat) -> str:
    """Return a report as JSON, JUnit XML, Markdown or a web page."""
    if kind is ReportFormat.junit:
        from packages.evaluation.output.report_junit import render_junit

        return render_junit(report)
    if kind is ReportFormat.html:
        from packages.evaluation.output.report_page import render_page

        return render_page(report, compare_variants(report))
    if kind is ReportFormat.markdown:
        from packages.evaluation.output.report_markdown import render_markdown

        return render_markdown(report)
    import json

    from packages.evaluation.analysis.run_report import encode_report

    return json.dumps(encode_report(report), indent=1) + "\n"


def compare_variants(report: RunReport) -> tuple[Comparison, ...]:
    """Compare each further variant of a run with the first; those without a task in common are left out."""
    from packages.evaluation.analysis.comparison import compare_results
    from sandbox.errors import UserError

    found = []
    first, *others = (each.label for each in report.summaries)
    for other in others:
        try:
            found.append(
                compare_results(
                    first,
                    other,
                    report.select_results(first),
                    report.select_results(other),
                    seed=report.record.seed,
                )
            )
        except UserError:
            continue
    return tuple(found)
