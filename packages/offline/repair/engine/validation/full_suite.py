"""Run of the whole suite as the final check of a patch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from packages.offline.repair.engine.candidates.candidate_generation import Candidate
from packages.offline.repair.engine.candidates.ranking import PlausiblePatch
from packages.offline.repair.engine.validation.worker_client import Effort, WorkerClient
from packages.offline.repair.engine.validation.worker_process import Message, Replies
from sandbox.lazy_dataclass import dataclass


@dataclass(slots=True, kw_only=True)
class FullSuiteRun:
    """Runs the whole suite with a patch, with fresh imports, in the original order.

    deadline: on the clock of the replies
    files: the test files that were collected; empty for all of them
    checked: tests that passed with the patch
    to_the_end: False when there was no time for more than the files
    """

    ask: WorkerClient
    replies: Replies
    deadline: float
    files: Sequence[str] = ()
    checked: int = 0
    to_the_end: bool = True

    async def passes_with(self, found: PlausiblePatch, effort: Effort) -> bool:
        """Return whether every test that passed or is fixed passes, and no failing one is skipped or gone.

        Tests that were not run before, since no target names their files, and that fail with the patch are
        run without it as well; if they are too many for the time, the named files decide. The same applies to
        skipped tests, and to collection, if the patch is in code that runs before the tests. A test that
        failed for the first time and passes by itself gets a second run.
        """
        tests = self.ask.spectrum.tests
        must = [t.id for t in tests if t.standing == "passed" or t.index in found.helped]
        watch = [t.id for t in tests if t.standing == "failed" and t.id not in set(must) and not t.is_endless]
        stage = {
            "stop": "whole",
            "must": must,
            "watch": watch,
            "skip": sorted({t.id for t in tests} - set(must)),
            "tell": bool(self.files) and self.ask.changes_import_time_code(found.candidate),
        }
        edits = self.ask.encode_edits(found.candidate)
        if self.files:
            named = await self._run_session(found.candidate, edits, stage, effort, self.files)
            if named is None or named["verdict"] != "passed":
                return False
            self.checked = len(named["passed"])
        reply = await self._run_session(found.candidate, edits, stage, effort)
        if self.files and (
            reply is None or reply["verdict"] == "timeout" or not (reply["passed"] or reply["failed"])
        ):
            self.to_the_end = False
            return True
        if reply is None or set(reply["skipped"]) & {*must, *watch}:
            return False
        others = reply["skipped"] or "collected" in reply
        if others and not await self._is_skipped_without_patch(found.candidate, reply, effort):
            return False
        failed, self.checked = reply["failed"], len(reply["passed"])
        if reply["verdict"] != "failed" or not failed:
            return bool(reply["verdict"] == "passed")
        if not set(failed) & set(must):
            return await self._fails_without_patch(found.candidate, edits, failed, effort)
        # By chance, or by a side effect of an earlier test? Another run in the same order shows.
        if not await self._passes_on_rerun(found.candidate, edits, failed, effort):
            return False
        reply = await self._run_session(found.candidate, edits, stage, effort)
        self.checked = len(reply["passed"]) if reply else 0
        return reply is not None and reply["verdict"] == "passed"

    async def _is_skipped_without_patch(self, about: Candidate, reply: Message, effort: Effort) -> bool:
        """Return whether tests not run before that are skipped or not collected are so without the patch too."""
        stage = {**_build_stage(reply["skipped"]), "tell": "collected" in reply}
        without = await self._run_session(about, [], stage, effort)
        if without is None or set(reply["skipped"]) & {*without["passed"], *without["failed"]}:
            return False
        return not _count_by_function(without.get("collected", ())) - _count_by_function(
            reply.get("collected", ())
        )

    async def _fails_without_patch(
        self, about: Candidate, edits: list[list[object]], failed: Sequence[str], effort: Effort
    ) -> bool:
        """Return whether tests not run before that fail with the patch fail without it too, or intermittently."""
        without = await self._run_session(about, [], _build_stage(failed), effort)
        if without is None:
            return False
        broken = sorted(set(failed) - set(without["failed"]))
        if not broken or without["verdict"] == "timeout":
            return not broken
        return await self._passes_on_rerun(about, edits, broken, effort)

    async def _passes_on_rerun(
        self, about: Candidate, edits: list[list[object]], failed: Sequence[str], effort: Effort
    ) -> bool:
        """Return whether tests that failed with the patch pass with it when they are run by themselves."""
        again = await self._run_session(about, edits, _build_stage(failed), effort)
        return again is not None and again["verdict"] == "passed" and len(again["passed"]) == len(failed)

    async def _run_session(
        self,
        about: Candidate,
        edits: list[list[object]],
        stage: Message,
        effort: Effort,
        files: Sequence[str] = (),
    ) -> Message | None:
        """Return the reply to a session of some files, or of everything; None when there was no time for it."""
        name = await self.ask.request_suite_run(about, edits, stage, effort, files)
        reply = None
        while (message := await self.replies.wait_until(self.deadline)) is not None:
            if message.get("id") == name:
                reply = message
            if reply or message["kind"] == "ended":
                break
        self.ask.open.clear()
        return reply


def _build_stage(names: Sequence[str]) -> Message:
    """Return a stage of some tests, each of which may fail."""
    return {"stop": "whole", "must": [], "watch": [], "skip": [], "those": list(names), "tell": False}


def _count_by_function(names: Iterable[str]) -> Counter[str]:
    """Return the number of tests of each function; parameter ids may differ each time."""
    return Counter(name.partition("[")[0] for name in names)
