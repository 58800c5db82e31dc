"""Report of an evaluation as one web page: no script, no file or address besides it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from cli.output.amounts import format_duration, format_money, format_tokens
from packages.evaluation.analysis.comparison import Comparison
from packages.evaluation.analysis.run_report import RunReport
from packages.evaluation.output.report_table import (
    build_row,
    list_comparison_lines,
    list_notes,
    list_titles,
)
from packages.evaluation.runs.trial_result import TrialResult
from sandbox.sanitize import sanitize_text

LONGEST_PATCH = 20_000
"""Characters of a patch on the page; the whole one is in the store."""


def render_page(report: RunReport, comparisons: tuple[Comparison, ...] = ()) -> str:
    """Return the page: figures by variant, then each task by variant with its trials and patches."""
    run = report.record
    title = f"{run.suite}: {len(run.tasks)} tasks, {run.trials} trials each"
    parts = [
        f"<h1>{_text(title)}</h1>",
        f"<p>Run {_text(run.id)} of {_text(run.created)}, Patchwright {_text(run.version)}, seed {run.seed}.</p>",
        *_render_figures(report),
        *(f"<p>{_text(line)}</p>" for line in list_notes(report)),
    ]
    for each in comparisons:
        lines = "<br>".join(_text(line) for line in list_comparison_lines(each))
        parts.append(f"<p>{lines}</p>")
    parts += _render_tasks(report)
    return _PAGE.replace("TITLE", _text(title)).replace("BODY", "\n".join(parts))


def _render_figures(report: RunReport) -> Iterator[str]:
    k = report.record.trials
    yield "<table><tr>" + "".join(f"<th>{_text(each)}</th>" for each in list_titles(k)) + "</tr>"
    for summary in report.summaries:
        yield "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in build_row(summary, k)) + "</tr>"
    yield "</table>"


def _render_tasks(report: RunReport) -> Iterator[str]:
    labels = [each.label for each in report.record.variants]
    found: dict[tuple[str, str], list[TrialResult]] = {}
    for each in report.results:
        found.setdefault((each.task, each.variant), []).append(each)
    yield "<h2>Tasks</h2><table><tr><th>task</th>"
    yield "".join(f"<th>{_text(label)}</th>" for label in labels) + "</tr>"
    for task in report.record.tasks:
        cells = "".join(_render_cell(found.get((task.name, label), [])) for label in labels)
        yield f"<tr><td>{_text(task.name)}</td>{cells}</tr>"
    yield "</table>"


def _render_cell(results: list[TrialResult]) -> str:
    if not results:
        return "<td>–</td>"
    solved = sum(each.solved for each in results)
    kind = "good" if solved == len(results) else "bad" if not solved else "mixed"
    inner = "".join(map(_render_trial, results))
    return f'<td class="{kind}"><details><summary>{solved}/{len(results)}</summary>{inner}</details></td>'


def _render_trial(result: TrialResult) -> str:
    facts = [
        "solved" if result.solved else f"{result.failure}: {result.detail}",
        format_duration(result.seconds),
        f"{result.steps} steps",
        f"{format_tokens(result.tokens)} tokens",
        *([format_money(result.cost)] if result.cost is not None else []),
        *([f"session {result.session}"] if result.session else []),
    ]
    patch = result.patch[:LONGEST_PATCH] + ("\n…" if len(result.patch) > LONGEST_PATCH else "")
    shown = f"<pre>{_text(patch)}</pre>" if patch else ""
    return f"<p>{result.trial + 1}. {_text(', '.join(facts))}</p>{shown}"


def _text(text: str) -> str:
    return escape(sanitize_text(text))


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width"><title>TITLE</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
:root { color-scheme: light dark }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border: 1px solid #8886; padding: .2rem .6rem; text-align: left; vertical-align: top }
.good { background: #2a52 } .bad { background: #c332 } .mixed { background: #da02 }
pre { font: 13px/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
summary { cursor: pointer }
</style></head><body>
BODY
</body></html>
"""
