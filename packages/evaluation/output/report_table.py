"""Reports of evaluations on a terminal: tables, and lines for a pipe."""

from __future__ import annotations

from collections.abc import Iterator

from cli.output.amounts import format_duration, format_money, format_tokens
from cli.output.tables import Column, print_table
from packages.evaluation.analysis.comparison import Comparison
from packages.evaluation.analysis.run_report import RunReport
from packages.evaluation.analysis.run_summary import VariantSummary
from packages.evaluation.statistics.intervals import Interval
from sandbox.sanitize import sanitize_text

_MOST_NAMES = 8


def print_report(report: RunReport) -> None:
    """Print the figures of all variants, and what a reader should know of them."""
    run = report.record
    print(
        sanitize_text(
            f"run {run.id}: {run.suite}, {len(run.tasks)} tasks, {run.trials} trial{'s' if run.trials > 1 else ''}"
            f" each, seed {run.seed}, {run.created}, version {run.version}"
        )
    )
    titles = list_titles(run.trials)
    columns = [Column(title=each, wraps=not place, right=bool(place)) for place, each in enumerate(titles)]
    rows = [build_row(each, run.trials) for each in report.summaries]
    lines = [
        f"{row[0]}: {', '.join(f'{title} {cell}' for title, cell in zip(titles[1:], row[1:], strict=True))}"
        for row in rows
    ]
    print_table(columns, rows, lines)
    for line in list_notes(report):
        print(sanitize_text(line))


def list_titles(k: int) -> list[str]:
    """Return the titles of the cells of `build_row`."""
    rates = [f"pass@{k}", f"pass^{k}"] if k > 1 else []
    figures = ["precision", "score", "$/solved", "tokens", "time", "steps", "tool failures"]
    return ["variant", "solved", "rate (95 %)", *rates, *figures]


def build_row(summary: VariantSummary, k: int) -> list[str]:
    """Return the cells of a variant. k: trials of each task"""
    rates = [_format_rate(summary.pass_at.get(k)), _format_rate(summary.pass_hat.get(k))] if k > 1 else []
    return [
        sanitize_text(summary.label),
        f"{summary.solved}/{summary.trials}",
        f"{_format_rate(summary.rate)} {format_interval(summary.interval)}".strip(),
        *rates,
        _format_rate(summary.precision),
        "–" if summary.score is None else f"{summary.score:.2f}",
        "–" if summary.cost_of_pass is None else format_money(summary.cost_of_pass),
        "–" if summary.tokens is None else format_tokens(round(summary.tokens)),
        "–" if summary.seconds is None else format_duration(summary.seconds),
        "–" if summary.steps is None else f"{summary.steps:g}",
        _format_rate(summary.tool_failure_rate),
    ]


def list_notes(report: RunReport) -> Iterator[str]:
    """Yield failures, flaky tasks, groups and what is missing, a line each."""
    several = len(report.summaries) > 1
    for each in report.summaries:
        name = f"{each.label}: " if several else ""
        if each.failures:
            kinds = ", ".join(f"{kind} {count}" for kind, count in each.failures.items())
            yield f"{name}not solved: {kinds}"
        if each.flaky:
            tasks = [f"{one.task} {one.solved}/{one.trials}" for one in each.flaky[:_MOST_NAMES]]
            more = f", and {len(each.flaky) - _MOST_NAMES} more" if len(each.flaky) > _MOST_NAMES else ""
            yield f"{name}flaky: {', '.join(tasks)}{more}"
        if each.groups:
            yield f"{name}by group: " + ", ".join(
                f"{one.name} {one.solved}/{one.trials}" for one in each.groups
            )
        if each.user_cost:
            yield f"{name}users played by a model: {format_money(each.user_cost)}, in no figure of the agent"
    if report.missing:
        yield f"{report.missing} of {len(report.record.keys)} trials have no result: the same command goes on"
    if report.spending.lost_tokens:
        lost = format_tokens(report.spending.lost_tokens)
        yield f"{format_money(report.spending.lost_cost)} and {lost} tokens went to trials that were cut off"


def print_comparison(comparison: Comparison) -> None:
    """Print a comparison: the verdict first, then the figures that it rests on."""
    for line in list_comparison_lines(comparison):
        print(sanitize_text(line))


def list_comparison_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the lines of a comparison."""
    first, second = comparison.first, comparison.second
    yield f"{second} against {first}: {comparison.verdict}"
    yield (
        f"solved {comparison.rates[1]:.1%} against {comparison.rates[0]:.1%} of {comparison.tasks} tasks: difference"
        f" {comparison.difference:+.1%} {format_interval(comparison.interval, sign=True)}, p = {comparison.p_value:.3f}"
        " (paired permutation test)"
    )
    if comparison.mcnemar_p is not None:
        yield (
            f"solved only by {second}: {comparison.gained}, only by {first}: {comparison.lost};"
            f" p = {comparison.mcnemar_p:.3f} (exact McNemar test)"
        )
    if comparison.verdict == "no difference shown":
        yield (
            f"so many trials show a difference of {comparison.detectable:.0%} with 80 % probability:"
            " a smaller one may be there"
        )
    for word, tasks in (("gained", comparison.gained_tasks), ("lost", comparison.lost_tasks)):
        if tasks:
            more = ", …" if len(tasks) > _MOST_NAMES else ""
            yield f"{word} ({len(tasks)}): {', '.join(tasks[:_MOST_NAMES])}{more}"
    if comparison.costs is not None and any(comparison.costs):
        yield f"cost of a trial: {format_money(comparison.costs[1])} against {format_money(comparison.costs[0])}"
    if comparison.left_out:
        yield f"not compared, with results on one side only: {len(comparison.left_out)} tasks"


def format_interval(interval: Interval | None, *, sign: bool = False) -> str:
    """Format an interval of rates in percent, "" without one."""
    if interval is None:
        return ""
    if sign:
        return f"({100 * interval[0]:+.0f} to {100 * interval[1]:+.0f})"
    return f"({100 * interval[0]:.0f}–{100 * interval[1]:.0f})"


def _format_rate(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.1%}"
