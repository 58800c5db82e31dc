"""Rewind to the first error (Agent-R): the state of an attempt before the step that broke what it had mended.

While an attempt works, its files are kept as a patch whenever its own run of the suite shows more progress than any
before; a later run that shows less puts the patch into the log of the turn, where a resumed turn finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from agent.children.child import Child
from agent.events import ActionEvent, Event, ObservationEvent, Verification
from agent.strategy.progress import LOADED, find_best_run, measure_report
from agent.strategy.refinement import EarlierState
from agent.verify.verdict import Verdict
from sandbox.lazy_dataclass import dataclass
from tools.git.git_process import GitFailed

REWIND = "rewind"
"""Name of the verdict that keeps the patch of an earlier state."""

MOST_STEPS = 20
"""Steps that led to a state, as the next attempt is told them: the last ones."""

Narrow = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Returns a report without the failures that the prompt is not about."""


@dataclass(slots=True)
class StateWatch:
    """Follows an attempt. before: report without a change; keep: called with the patch of a state that was broken"""

    child: Child
    before: Mapping[str, Any]
    narrow: Narrow
    keep: Callable[[bytes], None]
    _best: float = LOADED
    _patch: bytes = b""

    def handle_event(self, event: Event) -> None:
        """Keep the files of the best run so far. Blocking, for tens of milliseconds, where a run is the best one: the
        next step must not change them meanwhile."""
        report = read_suite_report(event)
        if report is None:
            return
        value = measure_report(self.before, self.narrow(report))
        if value > self._best:
            self._best = value
            try:
                self._patch = self.child.place.build_patch()
            except (GitFailed, OSError):  # such as a full disk: there is no state to rewind to
                self._patch = b""
        elif value < self._best and self._patch:
            self.keep(self._patch)
            self._patch = b""


@dataclass(slots=True)
class _Walk:
    """The runs of the suite in a log, each with the steps that led to it, and the first one after it."""

    reports: list[Mapping[str, Any]] = field(default_factory=list)
    steps: list[list[str]] = field(default_factory=list)
    following: list[str] = field(default_factory=list)


def find_earlier_state(
    events: Iterable[Event], before: Mapping[str, Any], narrow: Narrow, patch: str
) -> EarlierState | None:
    """Return the state of an attempt's best run of the suite; None where its last run is as good.

    patch: reference of the files of that state
    """
    walk, done = _Walk(), list[str]()
    for event in events:
        if isinstance(event, ActionEvent):
            place = event.paths[0] if event.paths else ""
            done.append(f"{event.tool} {place}".strip())
            is_change = event.effect not in ("read", "none") and event.tool != "run_tests"
            if is_change and walk.following and not walk.following[-1]:
                walk.following[-1] = done[-1]
        elif (report := read_suite_report(event)) is not None:
            walk.reports.append(narrow(report))
            walk.steps.append(list(done))
            walk.following.append("")
    if not walk.reports:
        return None
    best = find_best_run(walk.reports, before)
    if best == len(walk.reports) - 1:
        return None
    failing = _list_failing(walk.reports[best])
    lost = next(
        filter(None, (_list_failing(each) - failing for each in walk.reports[best + 1 :])), set[str]()
    )
    return EarlierState(
        patch=patch,
        report=walk.reports[best],
        steps=tuple(walk.steps[best][-MOST_STEPS:]),
        error=walk.following[best],
        broken=tuple(sorted(lost)),
    )


def read_suite_report(event: Event) -> Mapping[str, Any] | None:
    """Return the report of a run of the whole suite; None for other events, and where the tests could not run."""
    found: Any = None
    if isinstance(event, ObservationEvent):
        found = event.data.get("report")
    elif isinstance(event, Verification):
        found = event.report
    if (
        not isinstance(found, dict)
        or found.get("targets")
        or found.get("outcome") not in ("passed", "failed")
    ):
        return None
    return found


def find_kept_patch(verdicts: Sequence[Verdict]) -> str:
    """Return the reference of the patch of an attempt's earlier state, from its verdicts; "" if there is none."""
    kept = [each.artifacts[0] for each in verdicts if each.name == REWIND and each.artifacts]
    return kept[-1] if kept else ""


def _list_failing(report: Mapping[str, Any]) -> set[str]:
    return {str(each.get("id")) for each in report.get("failures", ())}
