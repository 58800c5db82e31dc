"""Heading of an action: its tool, its target, its result, and the lines of its output that are folded."""

from __future__ import annotations

from collections.abc import Mapping

from agent.events import ObservationEvent
from cli.output.diff.diff_parser import parse_diff
from cli.output.lines.action_descriptions import describe_result
from cli.output.style.paint import Paint, Style, get_mark
from cli.output.style.terminal import measure_columns, truncate_text
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.sanitize import quote_name, sanitize_text

LEAST = 8
"""Minimum columns of an action's target, however long its result is: enough to distinguish two targets."""

LEAST_BESIDE = 20
"""Minimum columns of a long target beside a fold; with less, the fold gets a row of its own."""

_UNTITLED = frozenset({"git_log", "git_show", "git_blame"})
"""Built-in tools whose text begins with its content; all others begin with a line that sums it up."""

_EMPTY = frozenset({"(no output)", "(no new output)"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadingStyle:
    """Columns, colours and marks of a heading."""

    width: int
    paint: Paint
    unicode: bool


def format_heading(event: ObservationEvent, target: str, fold: str, style: HeadingStyle) -> list[str]:
    """Format `● tool target: result (time) · fold`; if it is too long, the target is truncated first.

    A fold that would leave too little of the target is a second row.
    """
    tail = _format_tail(event, unicode=style.unicode)
    sign = get_mark("bad" if event.failed else "action", unicode=style.unicode)
    dots = get_mark("ellipsis", unicode=style.unicode)
    tool = truncate_text(quote_name(event.tool), style.width // 2, ellipsis=dots)
    about = sanitize_text(target).replace("\n", " ").replace("\t", " ")
    if not style.unicode:
        about = _TYPOGRAPHY.sub(lambda match: f"{match[1]}-" if match[1] else "...", about)
    room = style.width - measure_columns(f"{sign} {tool}")
    beside = f"{get_mark('between', unicode=style.unicode)}{fold}" if fold else ""
    if beside and room - measure_columns(f" {tail}{beside}") < min(measure_columns(about), LEAST_BESIDE):
        beside, below = "", [style.paint(truncate_text(f"  {fold}", style.width, ellipsis=dots), "dim")]
    else:
        below = []
    tail += beside
    if about:
        about = f" {truncate_text(about, max(room - measure_columns(tail) - 1, LEAST), ellipsis=dots)}"
    left = room - measure_columns(about)
    tail = truncate_text(tail, left, ellipsis=dots) if left > 0 else ""
    colour = _choose_colour(event)
    heading = f"{style.paint(sign, colour)} {style.paint(tool, 'bold')}{about}{style.paint(tail, 'dim')}"
    return [heading, *below]


_TYPOGRAPHY = compile_lazily(r"(?<=:)(\d+)–|(?<= )…$")
"""Of descriptions: between the lines that are read, and after the first line of a text. The rest is quoted."""


def format_fold(lines: int, rest: str) -> str:
    """Return how many lines are folded and the way to see them; "" for none. rest: that way"""
    return f"+{lines} line{'' if lines == 1 else 's'} ({rest})" if lines else ""


def count_folded_lines(event: ObservationEvent, shown: int) -> int:
    """Return the number of lines of an output that are not seen, if `shown` rows of it are.

    None of an output that a summary replaces: a passed test run, an applied edit, a commit with its files.
    """
    report = event.data.get("report")
    if isinstance(report, Mapping) and report.get("outcome") == "passed":
        return 0
    if not event.failed and (event.data.get("diff") or event.data.get("files")):
        return 0
    lines = event.text.strip("\n").split("\n")
    if _has_title(event, lines[0]):
        del lines[0]
    if not any(line.strip() and line.strip() not in _EMPTY for line in lines):
        return 0
    return max(len(lines) - shown, 0)


def count_looked_lines(event: ObservationEvent) -> int:
    """Return the number of lines of an action that only looks, without the line that sums it up."""
    if diff := event.data.get("diff"):
        return sum(len(hunk.lines) for file in parse_diff(str(diff)) for hunk in file.hunks)
    lines = event.text.strip("\n").split("\n")
    return len(lines) - _has_title(event, lines[0]) if any(lines) else 0


def _has_title(event: ObservationEvent, first: str) -> bool:
    """Return whether the first line of an output only sums it up, as the heading does."""
    if event.failed and "exit" not in event.data and "report" not in event.data:
        return False  # it is the reason
    return event.tool not in _UNTITLED and not event.tool.startswith("mcp__") and bool(first)


def _format_tail(event: ObservationEvent, *, unicode: bool) -> str:
    """Format the result and the time, after a colon if there is a result."""
    came, quick = describe_result(event.data), event.seconds < 1 and "exit" not in event.data
    if not unicode:
        came = came.replace("−", "-")
    time = "" if quick else f"({event.seconds:.1f} s)"
    tail = " ".join(part for part in (sanitize_text(came), time) if part)
    return f"{':' if came else ''} {tail}" if tail else ""


def _choose_colour(event: ObservationEvent) -> Style:
    report = event.data.get("report")
    if event.failed:
        return "red"
    is_red = isinstance(report, Mapping) and report.get("outcome") != "passed"
    return "yellow" if is_red or event.data.get("exit") else "green"
