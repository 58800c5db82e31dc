"""Reports over several sessions: which are worth reading, and how they went by model, week and kind of task."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from agent.session.session_index import SessionSummary
from packages.trace.diagnosis import diagnose
from packages.trace.local_faults import find_marks
from packages.trace.outlook import find_bad_signs
from packages.trace.rows.session_trace import SessionTrace
from packages.trace.rows.traced_sessions import read_traces
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass

NEWEST = 50
"""Sessions whose logs are read for a triage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriagedSession:
    """id, title: of the session; weight: the higher, the more there is to learn from it; reasons: why"""

    id: str
    title: str
    weight: float
    reasons: Sequence[str]


def triage_sessions(summaries: Sequence[SessionSummary]) -> list[TriagedSession]:
    """Return the newest of these sessions that are worth reading, the most telling first.

    An error that led to the outcome weighs most, then what repeats, what people had to say in between, what was
    refused, the share of steps that failed, and a length of more than twice the median.
    """
    newest = [each for each in summaries if not each.parent][:NEWEST]
    usual = median([each.steps for each in newest]) if newest else 0
    found = []
    for each in newest:
        try:
            traces = read_traces(each.path)
        except (OSError, UserError):  # removed meanwhile, or of a newer version
            continue
        reasons = list(_list_reasons(traces, usual))
        if reasons:
            weight = round(sum(weight for weight, _ in reasons), 2)
            told = [reason for _, reason in reasons]
            found.append(TriagedSession(id=each.id, title=each.title, weight=weight, reasons=told))
    return sorted(found, key=lambda each: (-each.weight, each.id))


def _list_reasons(traces: Sequence[SessionTrace], usual: float) -> Iterator[tuple[float, str]]:
    rows = [row for row in traces[0].rows if not row.off]
    steps = [row for row in rows if row.number]
    if (found := diagnose(traces)) is not None:
        where = f"step {found.step}" if found.step else found.event
        yield 3.0, f"{where}: {found.kind}: {found.reason}"
    elif not traces[0].facts.get("outcome"):
        signs = find_bad_signs(rows)
        alike = f", and goes like sessions that fail: {', '.join(signs)}" if signs else ""
        yield 1.0 + bool(signs), f"it has not ended{alike}"
    elif any(not mark.recovered for mark in find_marks(traces[0].rows)):
        yield 0.5, "it ended well over a failure that was not made good"
    if said := sum(row.kind == "steer" and row.detail.get("by") == "person" for row in rows):
        yield min(said, 3) * 0.5, f"a person spoke in between {said} times"
    if refused := sum(bool(call.get("refused")) for row in rows for call in row.detail.get("calls", ())):
        yield min(refused, 3) * 0.3, f"{refused} calls were refused"
    told = [f"{each.name}: {each.detail}" for row in rows for each in row.signals]
    if told:
        yield (
            min(len(told), 3) * 0.4,
            told[0] if len(told) == 1 else f"{told[0]}, and {len(told) - 1} more signals",
        )
    failed = sum(row.failed for row in steps)
    if len(steps) >= 5 and failed * 3 >= len(steps):
        yield failed / len(steps), f"{failed} of {len(steps)} steps failed"
    if usual and len(steps) > 2 * usual:
        yield 0.5, f"{len(steps)} steps, where {usual:g} are usual"


def read_task_kind(summary: SessionSummary) -> str:
    """Return what a session's title asks for: "repair", "change", "task", "answer" or "unclear"."""
    from agent.prompt.prompt_reader import read_intent

    return read_intent(summary.title).kind


def _read_week(summary: SessionSummary) -> str:
    return time.strftime("%G-W%V", time.gmtime(summary.created))


KEYS: Mapping[str, Callable[[SessionSummary], str]] = {
    "task": read_task_kind,
    "model": lambda summary: summary.model,
    "week": _read_week,
}
"""What sessions are grouped by."""


def summarize_sessions(
    summaries: Sequence[SessionSummary], by: Sequence[str] = ("week", "model")
) -> list[dict[str, Any]]:
    """Return figures of sessions by keys of `KEYS`, the newest week first; without those that sessions started."""
    groups: dict[tuple[str, ...], list[SessionSummary]] = {}
    for each in summaries:
        if not each.parent:
            groups.setdefault(tuple(KEYS[key](each) for key in by), []).append(each)
    return [
        {
            **dict(zip(by, values, strict=True)),
            "sessions": len(group),
            "done": sum(each.outcome == "done" for each in group),
            "steps": median(each.steps for each in group),
            "minutes": round(median(each.updated - each.created for each in group) / 60, 1),
            "cost": _add_costs([each.cost for each in group]),
        }
        for values, group in sorted(groups.items(), key=lambda item: item[0], reverse=True)
    ]


def summarize_tasks(summaries: Sequence[SessionSummary]) -> list[dict[str, Any]]:
    """Return figures of sessions by kind of task and model."""
    return summarize_sessions(summaries, ("task", "model"))


def _add_costs(costs: Sequence[float | None]) -> float | None:
    known = [each for each in costs if each is not None]
    return sum(known) if known else None
