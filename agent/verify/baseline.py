"""Baseline of a turn's tests: which of the failing ones failed before it in the same way, and which tests there were.

Found lazily, since a passing suite needs none: the tests that fail at the end are run in a copy of the state before
the turn, and its tests are listed only where a change may have left some out. Changes of earlier turns that are not
committed do not belong to that state: a failure that the session itself has caused stays its own.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.events import Event, SnapshotEvent
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from tools.changes.change_tracker import Snapshotter
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from agent.verify.collected_tests import CollectedTests
    from tools.testing.failure_signature import FailureSignature
    from tools.testing.project_copies import States
    from tools.testing.report import TestReport

RUNS = 2
"""How often a test is observed before the turn: a second time, since it may fail only sometimes."""

MOST_CHANGED = 500
"""Changed files from which on no baseline is made: each one is hidden from the run by a mount of its own."""


@dataclass(slots=True, kw_only=True)
class Baseline:
    """Failures before the turn, of the tests that fail at its end.

    get_snapshots: returns the session's snapshots, None without any
    """

    workspace: Workspace
    get_snapshots: Callable[[], Snapshotter | None]
    _tree: str = ""
    _newest: str = ""
    _has_written: bool = False
    _originals: dict[str, tuple[bytes | None, int | None]] = field(default_factory=dict)
    _has_lost: bool = False
    _seen: set[FailureSignature] = field(default_factory=set)
    _runs: Counter[str] = field(default_factory=Counter)
    _collected: CollectedTests | None = None

    def begin_turn(self) -> None:
        """Remember the uncommitted changes of earlier turns."""
        changes = self.workspace.changes
        self._tree, self._has_written = "", False
        self._originals = {
            path: (content, changes.original_modes.get(path)) for path, content in changes.originals.items()
        }
        self._has_lost = bool(changes.lost)
        self._seen.clear()
        self._runs.clear()
        self._collected = None

    def track_event(self, event: Event) -> None:
        """Process an event of the turn: the snapshot before its first write is the state before the turn.

        One that equals the newest snapshot, of an earlier turn or of a check between turns, was not recorded again.
        """
        if not isinstance(event, SnapshotEvent):
            return
        if not self._has_written:
            self._tree = event.tree if event.when == "before" else self._newest
            self._has_written = True
        self._newest = event.tree

    async def find_old_failures(self, report: Mapping[str, Any], first: Mapping[str, Any] | None) -> set[str]:
        """Return the ids of failing tests of which each failure was there before the turn.

        report: of the whole suite, at the end; first: of the suite in this turn before any change, None if not run
        """
        from tools.testing.failure_signature import collect_signatures, has_complete_failures

        if not has_complete_failures(report):
            return set()
        root = self.workspace.root
        now = collect_signatures(report, root)
        if first is not None and not self._runs:
            self._seen |= collect_signatures(first, root)
            self._runs.update({each.id for each in now})
        for _ in range(RUNS):
            missing = {each.id for each in now - self._seen if self._runs[each.id] < RUNS}
            if not missing:
                break
            self._seen |= await self._run_before(missing)
            self._runs.update(missing)
        new = {each.id for each in now - self._seen}
        return {each.id for each in now} - new

    async def _run_before(self, tests: Collection[str]) -> set[FailureSignature]:
        """Return the failures of some tests in the state before the turn, none if it cannot be restored or run."""
        from tools.testing.failure_signature import collect_signatures
        from tools.testing.run_comparison import strip_subtest

        found = await self._run_copy(targets=sorted({strip_subtest(each) for each in tests}))
        return collect_signatures(found[0].as_data(), found[1]) if found is not None else set()

    async def list_tests(self) -> CollectedTests | None:
        """Return the tests of the state before the turn, None if it cannot be restored. They are run only where the
        runner cannot list them."""
        if self._collected is None:
            found = await self._run_copy(listing=True)
            if found is not None:
                from agent.verify.collected_tests import CollectedTests

                report = found[0].as_data()
                self._collected = CollectedTests(report=report, is_listing=found[0].runner == "pytest")
        return self._collected

    async def find_run_tests(self, tests: Sequence[str]) -> list[str]:
        """Return those of some tests that are not skipped in the state before the turn."""
        found = await self._run_copy(targets=tests)
        if found is None:
            return []
        failed = {each.id for each in found[0].failures}
        return [each for each in tests if each in found[0].passed_tests or each in failed]

    async def run_with(self, versions: Mapping[str, bytes | None]) -> TestReport | None:
        """Return the report of all tests with other versions of some files, None if they cannot be run."""
        found = await self._run_copy(states={path: (content, None) for path, content in versions.items()})
        return found[0] if found is not None else None

    async def _run_copy(
        self, *, targets: Sequence[str] = (), listing: bool = False, states: States | None = None
    ) -> tuple[TestReport, Path] | None:
        """Run tests in a copy of the state before the turn; return the report and the copy's folder.

        states: of files that differ from now, in place of those before the turn
        """
        from tools.testing.project_copies import TooLarge, create_copies
        from tools.testing.suite_run import run_copy

        at = self.workspace
        if at.sandbox.name == "unconfined":  # the tests could import the changed files, unnoticed
            return None
        try:
            async with create_copies(at, 1) as [copy]:
                if states is None:
                    states = await asyncio.to_thread(self._collect_states)
                if states is None or len(states) > MOST_CHANGED:
                    return None
                await asyncio.to_thread(copy.restore, states)
                report = await run_copy(
                    copy.at,
                    at.settings.tests.timeout,
                    targets=targets,
                    denied=[at.root / path for path in states],
                    listing=listing,
                )
                return report, copy.at.root
        except (TooLarge, OSError, UserError):  # then nothing is known of that state
            return None

    def _collect_states(self) -> States | None:
        """Return (content, mode) before the turn of each file that differs now; None if one was not kept."""
        if self._has_lost or (self._has_written and not self._tree):
            return None
        states: dict[str, tuple[bytes | None, int | None]] = {}
        snapshots = self.get_snapshots()
        if self._tree:
            if snapshots is None:
                return None
            for change in snapshots.list_changes(self._tree, snapshots.take()):
                content = snapshots.read_content(change.before) if change.before else None
                if change.before is not None and content is None:
                    return None
                states[change.path] = (content, change.before.mode if change.before else None)
        return {**states, **self._originals}
