"""Signals of a session that goes wrong, found in the rows of its trace: those of foreign and of older sessions, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agent.monitor.signals.session_steps import SessionStep, find_words, hash_lines
from agent.monitor.signals.signal_detectors import FoundSignal, create_detectors
from packages.trace.rows.trace_rows import Row
from sandbox.lazy_pattern import compile_lazily

_CORRECTION = compile_lazily(
    r"(?i)^\W*(?:no\b|nope|wrong|stop\b|don'?t\b|do not\b|not (?:that|this|like)\b|undo\b|revert\b|"
    r"that'?s (?:not|wrong)|you (?:forgot|broke|missed))"
)

PRESSED, NEAR = 3, 15
"""So many compactions within so many replies mean a window that is too small for the work."""


class RowSignals:
    """Judges one row after the other, steps as the live signals do."""

    def __init__(self) -> None:
        self._detectors = create_detectors()
        self._compactions: list[int] = []
        self._has_begun = False

    def judge_step(self, row: Row) -> list[FoundSignal]:
        """Return what a finished step shows."""
        step = create_row_step(row)
        return [found for each in self._detectors if (found := each.take_step(step)) is not None]

    def judge_words(self, row: Row) -> list[FoundSignal]:
        """Return whether a person corrects the model. The first prompt corrects nothing."""
        is_first, self._has_begun = not self._has_begun, True
        text = str(row.detail.get("text", ""))
        if is_first or row.detail.get("by") not in (None, "person") or not _CORRECTION.search(text):
            return []
        first = text.strip().splitlines()[0][:80]
        advice = "Do as they say, and say what you change."
        return [_report(row, "correction", 1, f"a person corrected it: {first}", advice)]

    def judge_compaction(self, row: Row, steps: int) -> list[FoundSignal]:
        """Return whether compactions follow each other closely. steps: number of the last step"""
        self._compactions = [each for each in self._compactions if steps - each <= NEAR] + [steps]
        if len(self._compactions) != PRESSED:
            return []
        detail = f"the past was compressed {PRESSED} times within {NEAR} replies"
        return [_report(row, "pressure", PRESSED, detail, "Read less at once, or hand parts over.")]


def report_refusal(row: Row, reason: str) -> FoundSignal:
    """Return the signal that a person refused an action of a step."""
    return _report(row, "refused", 1, f"a person refused an action: {reason}", "Ask what is wanted instead.")


def _report(row: Row, name: str, value: float, detail: str, advice: str) -> FoundSignal:
    return FoundSignal(name=name, place=row.event, value=value, detail=detail, advice=advice)


def create_row_step(row: Row) -> SessionStep:
    """Return a row of a trace as the detectors see it. Results of the harness's own calls do not count."""
    calls = [each for each in row.detail.get("calls", ()) if "within" not in each]
    asked = "\n".join(" ".join(f"{each['tool']} {each['arguments']}".split()) for each in calls)
    step = SessionStep(
        place=row.event,
        text=str(row.detail.get("text", "")),
        thought=int(row.usage["reasoning"]) if row.usage else 0,
        tools=tuple(each["tool"] for each in calls),
        asked=asked,
        words=find_words(asked),
        tree=row.tree,
        changed=any(_has_changed(each) for each in calls),
        ran=row.tests is not None
        or any(each.get("effect") == "execute" and each["tool"] != "run_tests" for each in calls),
    )
    for lines, failed in _iterate_results(calls):
        step.lines |= lines
        if failed:
            step.failed += 1
            step.error |= lines
    return step


def _has_changed(call: Mapping[str, Any]) -> bool:
    return not call.get("failed") and (call.get("effect") in ("write", "git") or bool(call.get("changed")))


def _iterate_results(calls: list[dict[str, Any]]) -> Iterator[tuple[frozenset[int], bool]]:
    for each in calls:
        yield hash_lines(str(each.get("output", ""))), bool(each.get("failed"))
