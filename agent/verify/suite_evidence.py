"""Test evidence for a model's claim to be done: the harness runs the tests and reports the result."""

from __future__ import annotations

import hashlib
import math
import os
import stat
import time
from collections.abc import Mapping
from typing import Any

from agent.events import Event, ObservationEvent, Prompt, Verification
from sandbox.lazy_dataclass import dataclass
from tools.changes.session_changes import Comparison
from tools.core.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    """A run of the whole suite, and a fingerprint of the changed files at that time."""

    report: Mapping[str, Any]
    fingerprint: str


class SuiteEvidence:
    """Follower of the log: the last whole-suite test run, and the state of the files that it tested.

    `first` is the report from before any change in this session, if the tests were run then; `before_turn` that of
    this turn from before any change, unless earlier changes are uncommitted. `denied`: the last effective action
    of the turn was denied.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.first: Mapping[str, Any] | None = None
        self.last: SuiteRun | None = None
        self.before_turn: Mapping[str, Any] | None = None
        self.denied = False
        self._turn_has_changes = False
        self._paths: set[str] = set()  # every file this session ever changed, even if committed since

    def handle_event(self, event: Event) -> None:
        """Process an event as it is logged."""
        if isinstance(event, Prompt):
            self.denied = False
            self.before_turn, self._turn_has_changes = None, bool(self._workspace.changes)
        if not isinstance(event, ObservationEvent):
            return
        self._paths.update(self._workspace.changes)
        self._turn_has_changes |= bool(self._workspace.changes)
        if "summary" not in event.data:  # a summary at the end of the turn does not cancel a denial
            self.denied = bool(event.data.get("denied"))
        report = event.data.get("report")
        if not isinstance(report, dict) or report.get("targets"):
            return
        if self.first is None and not self._paths:
            self.first = report
        if self.before_turn is None and not self._turn_has_changes:
            self.before_turn = report
        self.last = SuiteRun(report=report, fingerprint=self._hash_changed_files())

    def get_current_report(self) -> Mapping[str, Any] | None:
        """Return the last whole-suite report, if no file was changed since; else None."""
        self._paths.update(self._workspace.changes)
        if self.last is not None and self.last.fingerprint == self._hash_changed_files():
            return self.last.report
        return None

    def _hash_changed_files(self) -> str:
        """Return a hash over the present content of every file that this session changed."""
        digest = hashlib.sha256()
        for path in sorted(self._paths):
            content = read_current_content(self._workspace, path)
            digest.update(path.encode("utf-8", "surrogateescape"))
            digest.update(b"\0gone" if content is None else hashlib.sha256(content).digest())
        return digest.hexdigest()


def read_current_content(workspace: Workspace, path: str) -> bytes | None:
    """Return a file's bytes, or a link's target if it was a link; None when there is neither."""
    if not stat.S_ISLNK(workspace.changes.original_modes.get(path, 0)):
        try:
            if workspace.files.is_file(path):
                return workspace.files.read(path)
        except PermissionError:  # exists, but cannot be read
            return b""
        except (
            ValueError,
            OSError,
        ):  # a link out of the workspace or in a loop; or just removed
            pass
    try:
        return os.fsencode((workspace.root / path).readlink())
    except (ValueError, OSError):
        return None


def list_modified_files(workspace: Workspace, *, seconds: float = math.inf) -> list[str]:
    """Return paths whose content or executable bit differs from the state at the session's first change.

    seconds: time for the comparison; what it does not get to is taken as modified
    """
    until = time.monotonic() + seconds
    return [
        path for path in list(workspace.changes) if time.monotonic() > until or is_modified(workspace, path)
    ]


def is_modified(workspace: Workspace, path: str) -> bool:
    """Return whether a file that the session changed differs from its original state.

    A file is read again only if its state on disk or its original is another one: a turn's end asks a dozen times.
    """
    changes = workspace.changes
    try:
        now = (workspace.root / path).lstat()
    except (ValueError, OSError):
        return _compare_with_original(workspace, path)
    times = (now.st_mtime_ns, now.st_ctime_ns)
    original, mode = changes.originals[path], changes.original_modes.get(path, -1)
    state = (now.st_mode, now.st_size, now.st_ino, *times, mode, path in changes.lost)
    known = changes.compared.get(path)
    if known is not None and known.state == state and known.original is original:
        return known.differs
    began = time.time_ns()
    found = _compare_with_original(workspace, path)
    # A write right after the comparison would not show in the times; a link shows nothing of its target.
    if stat.S_ISREG(now.st_mode) and began - now.st_ctime_ns > _TICK:
        changes.compared[path] = Comparison(state=state, original=original, differs=found)
    return found


_TICK = 100_000_000
"""Nanoseconds within which a file system may give two changes the same time."""


def _compare_with_original(workspace: Workspace, path: str) -> bool:
    if (
        path in workspace.changes.lost
        or read_current_content(workspace, path) != workspace.changes.originals[path]
    ):
        return True
    before = workspace.changes.original_modes.get(path)
    if before is None or stat.S_ISLNK(before):
        return False
    try:
        now = (workspace.root / path).stat().st_mode
    except OSError:
        return False
    return bool((before ^ now) & stat.S_IXUSR)


def describe_counts(report: Mapping[str, Any]) -> str:
    """Return the numbers of a report's tests that did not fail."""
    others = ("skipped", "xfailed", "xpassed", "deselected")
    counts = f"{report.get('passed', 0)} passed"
    return counts + "".join(f", {report[kind]} {kind}" for kind in others if report.get(kind))


def judge_report(
    report: Mapping[str, Any], before: Mapping[str, Any] | None, *, may_lose_tests: bool = False
) -> Verification:
    """Return outcome and detail for a report of the whole suite.

    before: the report from before the session's changes, None if there is none
    may_lose_tests: earlier tests may be gone, since the user asked for that
    """
    from tools.testing.run_comparison import describe_loss

    outcome = report.get("outcome")
    counts = describe_counts(report)
    loss = describe_loss(before, report) if before is not None else ""
    failures = [str(f.get("id", "?")) for f in report.get("failures", ())]
    if outcome == "passed":
        detail = counts if "," in counts or report.get("passed") else "exit 0, tests not counted"
        if before is not None and before.get("failures"):
            detail += f"; before: {len(before['failures'])} failed"
        if loss:
            detail += f"; {loss}"
        lost = bool(loss) and not may_lose_tests
        return Verification(outcome="failed" if lost else "passed", detail=detail, report=dict(report))
    if outcome == "no-runner":
        return Verification(outcome="unverified", detail="no test runner found", report=dict(report))
    if outcome == "unverified":
        detail = str(report.get("note") or "nothing counted")
        return Verification(outcome="unverified", detail=detail, report=dict(report))
    if outcome == "no-tests":
        detail = f"the test run collected no tests{'; ' if loss else ''}{loss}"
        lost = bool(loss) and not may_lose_tests
        return Verification(outcome="failed" if lost else "unverified", detail=detail, report=dict(report))
    known = {str(f.get("id")) for f in before.get("failures", ())} if before is not None else set()
    new = [each for each in failures if each not in known]
    detail = f"{len(failures)} failed, {counts}" if failures else f"the test run ended as {outcome!r}"
    if failures and before is not None:
        detail += f" ({len(new)} of them passed before)" if new else " (all of them failed before as well)"
    return Verification(outcome="failed", detail=detail, report=dict(report))
