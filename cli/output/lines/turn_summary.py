"""Summary line of a turn: outcome, changes, cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.events import End, Verification
from cli.output.amounts import format_duration, format_price, format_tokens
from cli.output.style.paint import Paint, Style, get_mark
from cli.output.style.terminal import measure_columns, truncate_text
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

_OUTCOMES: dict[str, tuple[str, Style, str]] = {
    "done": ("good", "green", "done"),
    "tests-fail": ("bad", "red", "tests fail"),
    "nothing-to-do": ("good", "green", "nothing to do"),
    "limit": ("warn", "yellow", "stopped"),
    "denied": ("bad", "red", "denied"),
    "no-test-runner": ("warn", "yellow", "not checked"),  # the reason is on the line above
    "not-achieved": ("warn", "yellow", "not achieved"),
    "interrupted": ("warn", "yellow", "interrupted"),
}
"""Outcome → mark, colour, words. All other outcomes follow an error that has just been reported."""


def format_summary(
    end: End,
    *,
    seconds: float,
    unpriced: bool,
    width: int,
    paint: Paint,
    unicode: bool,
    still_failing: int = 0,
    more: Sequence[str] = (),
) -> list[str]:
    """Format the summary on as few lines as the width allows, broken between its parts.

    unpriced: at least one call had no known price, so that the cost is a lower bound
    still_failing: tests of the last check that failed before the turn as well, and were not to be mended
    more: other facts, ready for display; empty ones are left out
    """
    name, style, words = _OUTCOMES.get(end.outcome, ("bad", "red", f"failed: {end.outcome}"))
    if end.outcome == "limit" and end.summary:
        words = f"{words}: {sanitize_text(end.summary)}"
    elif end.reason:
        words = f"{words}: {sanitize_text(end.reason)}"
    red = _describe_still_failing(still_failing)
    if red and end.outcome == "done":
        name, style = "warn", "yellow"
    mark = get_mark(name, unicode=unicode)
    parts = [
        words if words.startswith(mark.removesuffix(":")) else f"{mark} {words}",
        *_collect_facts(end, seconds, unpriced, red),
        *filter(None, more),
    ]
    lines: list[str] = []
    between = get_mark("between", unicode=unicode)
    for part in parts:
        part = truncate_text(part, width - 2, ellipsis=get_mark("ellipsis", unicode=unicode))
        if lines and measure_columns(lines[-1]) + measure_columns(between) + measure_columns(part) <= width:
            lines[-1] += between + part
        else:
            lines.append(f"  {part}" if lines else part)
    return [paint(line, style) if index == 0 else paint(line, "dim") for index, line in enumerate(lines)]


def count_failures(report: Mapping[str, object]) -> int:
    """Return the number of failed and broken tests of a report."""
    numbers = [report.get(key) for key in ("failed", "errors")]
    return sum(each for each in numbers if isinstance(each, int))


@dataclass(slots=True)
class FailureTally:
    """Number of failing tests in a turn's first and last test run. excused: those with which its check passed"""

    excused: int = 0
    _first: int | None = None
    _last: int = 0

    def add_report(self, report: Mapping[str, object]) -> None:
        """Add a run's report; one that ran no test is ignored."""
        failed = count_failures(report)
        if report.get("passed") or failed:
            self._last = failed
            self._first = self._last if self._first is None else self._first

    def add_check(self, check: Verification) -> None:
        """Add the check of the turn's end: it passes with tests that failed before the turn as well."""
        self.excused = count_failures(check.report) if check.outcome == "passed" else 0

    def describe_change(self, *, unicode: bool) -> str:
        """Return the change between the two; "" if there was one run, or no change."""
        if self._first is None or self._first == self._last:
            return ""
        arrow = "→" if unicode else "->"
        return f"failing tests {self._first} {arrow} {self._last}"


def _describe_still_failing(number: int) -> str:
    return f"{number} test{' fails' if number == 1 else 's fail'} as before" if number else ""


def _collect_facts(end: End, seconds: float, unpriced: bool, red: str = "") -> list[str]:
    files, used = len(end.files), end.usage.input + end.usage.output
    facts = [
        f"{files} file{'' if files == 1 else 's'}" if files else "",
        _describe_verification(end.verification),
        red,
        f"commit {end.commit[:7]}" if end.commit else "",
        "not committed" if end.not_committed and not end.reason else "",
        f"{end.steps} step{'' if end.steps == 1 else 's'}" if end.steps else "",
        format_duration(seconds) if seconds >= 0.05 else "",
        f"{format_tokens(used)} tokens" if used else "",
        format_price(end.usage, unpriced=unpriced) if used else "",
    ]
    return [sanitize_text(fact) for fact in facts if fact]


def _describe_verification(verification: str) -> str:
    outcome, _, detail = verification.partition(": ")
    return detail.partition(";")[0] if outcome in ("passed", "failed") else ""
