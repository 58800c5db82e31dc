"""Report of an evaluation as Markdown: a table for a page or a pull request."""

from __future__ import annotations

from packages.evaluation.analysis.run_report import RunReport
from packages.evaluation.output.report_table import build_row, list_notes, list_titles
from sandbox.sanitize import sanitize_text


def render_markdown(report: RunReport) -> str:
    """Return the figures by variant as a table, with the notes below."""
    run = report.record
    titles = list_titles(run.trials)
    lines = [
        f"{_text(run.suite)}: {len(run.tasks)} tasks, {run.trials} trial{'s' if run.trials > 1 else ''} each,"
        f" seed {run.seed}; {run.created[:10]}, version {run.version}",
        "",
        f"| {' | '.join(titles)} |",
        f"|---|{'--:|' * (len(titles) - 1)}",
        *(
            f"| {' | '.join(_text(cell) for cell in build_row(each, run.trials))} |"
            for each in report.summaries
        ),
        "",
        *(f"- {_text(note)}" for note in list_notes(report)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _text(text: str) -> str:
    return sanitize_text(text).replace("|", "\\|")
