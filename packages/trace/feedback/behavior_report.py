"""Behaviors that people noted, as data and as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from packages.trace.feedback.behaviors import cluster_notes
from packages.trace.feedback.notes import read_notes
from sandbox.secrets.redaction import redact_values

if TYPE_CHECKING:
    from agent.session.session_index import SessionSummary


def list_behaviors(summaries: Sequence[SessionSummary]) -> list[dict[str, Any]]:
    """Return the behaviors that people noted in these sessions, those with most notes first, redacted."""
    told: list[dict[str, Any]] = redact_values(
        [each.as_data() for each in cluster_notes(read_notes(summaries))]
    )  # type: ignore[assignment]  # the same shape
    return told


def format_behaviors(behaviors: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each behavior, with the newest example of each kind below it."""
    for each in behaviors:
        weeks = list(each["weeks"])
        span = weeks[0] if len(weeks) == 1 else f"{weeks[0]} to {weeks[-1]}"
        counts = ", ".join(f"{each[kind]} {kind}" for kind in ("good", "bad") if each[kind])
        yield f"{each['behavior']}: {counts}  ({', '.join(each['deeds'])}; {span})"
        for kind, text in each["examples"].items():
            yield f"  {kind}: {text}"
        yield f"  {' '.join(each['places'][-3:])}"
