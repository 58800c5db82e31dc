"""Trials of candidates in order, screened in batches; the result is the best of the first good ones."""

from __future__ import annotations

import asyncio
import bisect
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path

from packages.offline.repair.engine.candidates.candidate_generation import Candidate, generate_candidates
from packages.offline.repair.engine.candidates.candidate_stream import CandidateFeed
from packages.offline.repair.engine.candidates.composed_edits import Edit
from packages.offline.repair.engine.candidates.plausible_patches import PlausiblePatches
from packages.offline.repair.engine.candidates.ranking import (
    MEASURING,
    MOST_MEASURED,
    PlausiblePatch,
    estimate_trust,
)
from packages.offline.repair.engine.multi_edit_search import PartialPatch, SearchBase, removes_exception
from packages.offline.repair.engine.validation.behaviour_diff import BehaviourComparison
from packages.offline.repair.engine.validation.budget_clock import JOBS
from packages.offline.repair.engine.validation.full_suite import FullSuiteRun
from packages.offline.repair.engine.validation.retry_slow import PATIENT, SlowCandidates
from packages.offline.repair.engine.validation.worker_client import Effort, WorkerClient
from packages.offline.repair.engine.validation.worker_process import Message, Replies, RequestPipe
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.templates import OPERATORS, Hints, Source
from sandbox.lazy_dataclass import dataclass

# Candidates in one child: few at first, so that an easy one is found early; then as many as share a child
# well.
FIRST_BATCH, BATCH = 8, 64
# Batches in flight, so that no child waits for the next.
AHEAD = 2 * JOBS
# Loop iterations and calls of a candidate at first; those that need more are retried at the end.
FUEL = 20_000
# Share of the budget reserved for the full-suite run once there is a patch to check.
RESERVE = 0.25
# Parallel cold trials: each is a test session of its own, which costs as much as hundreds of others. So there
# is one per this many others, until those are used up.
COLD_AHEAD, PER_COLD = 1, 300
# Singles kept for pairs: those tried first are the likeliest.
MOST_SINGLES = 400
# Share of the failing tests that two changes must fix before a third is searched for.
IN_HALF = 0.6
# Batches that left the tests' state changed before candidates get a child each, if it is one in so many.
MOST_SPOILT, OFTEN = 2, 8

FIRST = Effort(number=0, fuel=FUEL, factor=1.0, ceiling=1.5)


@dataclass(slots=True, kw_only=True)
class CandidateValidator:
    """Tries changes to make `wanted` pass (some of them at least) without breaking a passing test.

    name: distinguishes replies to this search from late ones to another
    deadline: on the clock of the replies
    latest: end of the full-suite run for patches found in time
    cold_start: wall seconds that a new session may take until its first test
    files: the test files that were collected; empty for all of them
    checked: tests of the whole suite that passed with the patch
    to_the_end: the whole suite was run; False when there was no time for more than the files
    others: equally good patches, next best first; not run against the whole suite
    measure: returns how natural a model finds a change, None if it does not say; None where there is no model
    """

    name: str
    root: Path
    workers: Mapping[str, RequestPipe]
    replies: Replies
    spectrum: Spectrum
    sources: dict[str, Source]
    wanted: Sequence[Test]
    deadline: float
    latest: float
    cold_start: float
    files: Sequence[str] = ()
    measure: Callable[[Candidate], Awaitable[float | None]] | None = None
    on_progress: Callable[[str], None]
    tried: int = 0
    checked: int = 0
    to_the_end: bool = True
    others: list[PlausiblePatch] = field(default_factory=list)
    _begun: float = field(init=False)
    _ask: WorkerClient = field(init=False)
    _good: PlausiblePatches = field(init=False)
    _same: BehaviourComparison = field(init=False)
    _singles: list[Candidate] = field(default_factory=list)
    _halves: list[PartialPatch] = field(default_factory=list)
    _further: list[PartialPatch] = field(default_factory=list)
    _bases_known: dict[int, SearchBase | None] = field(default_factory=dict)
    _judged_by: dict[int, Sequence[Test]] = field(default_factory=dict)
    _seen: set[tuple[Edit, ...]] = field(default_factory=set)
    _last_rank: int = 0
    _slow: SlowCandidates = field(default_factory=SlowCandidates)
    _cold: list[Candidate] = field(default_factory=list)
    _unanswered: list[Candidate] = field(default_factory=list)
    _in_cold: int = 0
    _cold_tried: int = 0
    _spoilt: int = 0
    _screened: int = 0
    _many: bool = False
    _hurried: bool = False

    def __post_init__(self) -> None:
        self._begun = self.replies.clock.now()
        self._good = PlausiblePatches(len(self.wanted))
        self._ask = WorkerClient(
            name=self.name,
            root=self.root,
            workers=self.workers,
            spectrum=self.spectrum,
            sources=self.sources,
            wanted=self.wanted,
            cold_start=self.cold_start,
        )
        self._same = BehaviourComparison(ask=self._ask)

    async def _find_best(self, candidates: Iterator[Candidate], effort: Effort) -> PlausiblePatch | None:
        feed = CandidateFeed(candidates)
        while True:
            await self._process_candidates(feed, effort)
            await self._try_other_operators(effort)
            await self._measure_naturalness()
            best = self._good.best
            if best is None or await self._passes_full_suite(best, effort):
                self.others = [each for each in self._good.list_ranked() if each is not best]
                return best
            self._good.found.remove(best)  # continue with the candidates that it had kept from being tried

    async def _try_other_operators(self, effort: Effort) -> None:
        """Try other operators in the statement that the best change is in: among many statements they come too late."""
        best = self._good.best
        if not self._many or best is None or best.candidate.base is not None:
            return
        found = [each.candidate for each in self._good.found]
        last = max(self._last_rank, *(each.rank for each in found))
        others = generate_candidates([best.candidate.suspect], self.sources, Hints(), templates=OPERATORS)
        new = (
            replace(each, rank=last + 1 + each.rank)
            for each in others
            if all(each.change != other.change or each.path != other.path for other in found)
        )
        await self._process_candidates(CandidateFeed(new), effort)

    async def _measure_naturalness(self) -> None:
        """Ask the model about the best of the changes that pass."""
        if self.measure is None:
            return
        clock, began = self.replies.clock, time.monotonic()
        left = clock.to_wall_seconds((self.latest - clock.now()) / 2)  # the suite comes after it
        with suppress(TimeoutError):
            async with asyncio.timeout(min(left, MEASURING)):
                for each in self._good.list_ranked()[:MOST_MEASURED]:
                    if each.naturalness is None:
                        told = replace(each, naturalness=await self.measure(each.candidate))
                        self._good.found[self._good.found.index(each)] = told
        clock.add_waited_seconds(time.monotonic() - began)

    async def _process_candidates(self, feed: CandidateFeed, effort: Effort) -> None:
        while self.replies.clock.now() < self._search_deadline:
            ahead, wanted = (
                (JOBS, self._good.is_worth_waiting) if effort.is_slow else (AHEAD, self._good.is_worth_trying)
            )
            while len(self._ask.open) < ahead and (
                batch := feed.next_batch(self._compute_batch_size(effort), wanted)
            ):
                await self._screen_batch(batch, effort)
            await self._start_cold_trials(
                effort, all_of_them=not self._ask.open and (bool(self._good.found) or not self._hurried)
            )
            if not self._ask.open:
                return
            reply = await self.replies.wait_until(self._search_deadline)
            if reply is None or reply["kind"] == "ended":
                self._drop_requests()
                return
            if reply.get("id") in self._ask.open:
                await self._handle_reply(reply, effort)
        self._drop_requests()

    @property
    def _search_deadline(self) -> float:
        """Return the end of the search: a patch is lost without time to try it on the whole suite."""
        return self.deadline - (RESERVE * (self.deadline - self._begun) if self._good.found else 0.0)

    def _drop_requests(self) -> None:
        self._unanswered += [candidate for about in self._ask.open.values() for candidate in about]
        self._ask.open.clear()
        self._same.clear_requests()
        self._in_cold = 0

    def _compute_batch_size(self, effort: Effort) -> int:
        """Return the number of candidates per batch; slow ones go in small batches, which several children share."""
        if effort.number:
            return 1 if effort.is_slow else 4
        return min(BATCH, FIRST_BATCH << self._ask.asked // AHEAD)

    # ── requests to the workers, and their replies ───────────────────────────────────────────────

    async def _screen_batch(self, batch: list[Candidate], effort: Effort) -> None:
        if self._spoilt > MOST_SPOILT and self._spoilt * OFTEN > self._screened:
            for candidate in batch:
                await self._screen_alone(candidate, effort)
            return
        await self._ask.request_screening(
            batch, [self._select_judges(candidate) for candidate in batch], effort
        )

    async def _screen_alone(self, candidate: Candidate, effort: Effort) -> None:
        await self._ask.request_screening([candidate], [self._select_judges(candidate)], effort, alone=True)

    def _select_judges(self, candidate: Candidate) -> Sequence[Test]:
        """Return the tests that judge a candidate first: those that its base does not fix already."""
        base = candidate.base
        return self.wanted[:1] if base is None else self._judged_by.get(base.rank, self.wanted[:1])

    async def _start_cold_trials(self, effort: Effort, *, all_of_them: bool) -> None:
        """Start trials of candidates outside functions, likeliest first, as long as they could be chosen."""
        self._cold.sort(key=lambda each: each.rank)
        while (
            self._in_cold < COLD_AHEAD
            and self._cold
            and self._good.is_worth_session(self._cold[0], self._cold_tried)
        ):
            if not all_of_them and self._cold_tried * PER_COLD >= self.tried:
                break
            self._in_cold += 1
            self._cold_tried += 1
            await self._ask.request_trial(self._cold.pop(0), effort, "cold")

    async def _handle_reply(self, reply: Message, effort: Effort) -> None:
        about = self._ask.open.pop(reply["id"])
        self._in_cold -= reply["from"] == "cold"
        if reply["kind"] == "probed":
            for told in self._same.handle_reply(reply):
                self._good.found = [told.apply_to(each) for each in self._good.found]
            return
        if reply["kind"] == "tried":
            await self._handle_trial(about[0], reply, effort)
            return
        self._ask.words.update(reply.get("before", ()))
        self._ask.hooked.update(reply.get("hooked", ()))
        if not reply["steady"]:
            if (
                len(about) > FIRST_BATCH
            ):  # one of them changed the state: the smaller the batch, the fewer suffer
                for start in range(0, len(about), FIRST_BATCH):
                    await self._screen_batch(about[start : start + FIRST_BATCH], effort)
                return
            self._spoilt += 1
        self._screened += len(about) > 1
        for candidate, verdict, said in zip(about, reply["verdicts"], reply["said"], strict=True):
            if verdict in ("passed", "unknown"):
                await self._ask.request_trial(candidate, effort, "warm")
            elif not reply["steady"] and verdict != "invalid":
                await self._screen_alone(candidate, effort)
            elif verdict == "placed":  # passed, as far as can be determined without a new import
                self._in_cold += 1
                await self._ask.request_trial(candidate, effort, "cold")
            elif verdict == "module" or (verdict == "unplaced" and not candidate.suspect.failing):
                self._cold.append(candidate)
            elif verdict == "breaks":
                self._record_broken(candidate, effort)
            elif verdict != "invalid":
                self._record_failure(candidate, effort, said, slow=verdict == "timeout")

    async def _handle_trial(self, candidate: Candidate, reply: Message, effort: Effort) -> None:
        if reply["verdict"] == "module":
            self._cold.append(candidate)
            return
        helped = frozenset(reply["passed"]) & {test.index for test in self.wanted}
        if reply["verdict"] == "passed" and self._helps_enough(candidate, helped):
            self.tried += 1
            passing = len(self._ask.find_passing_tests(candidate))
            kind = estimate_trust(candidate, passing)
            found = PlausiblePatch(candidate=candidate, helped=helped, trust=kind, near=passing + len(helped))
            self._good.found.append(found)
            await self._same.request_comparison(candidate)
            self.on_progress(f"{candidate.path}:{candidate.suspect.line}: {candidate.why}")
        else:
            slow = reply["verdict"] == "timeout" and not reply["stage"]
            if slow and self._slow.should_retry_now(
                candidate, passed=len(helped), failed=len(reply["failed"])
            ):
                await self._ask.request_trial(candidate, PATIENT, "warm")
                return
            if helped:
                self._record_broken(candidate, effort, slow=slow)
            else:
                self._record_failure(candidate, effort, "", slow=slow)

    def _helps_enough(self, candidate: Candidate, helped: frozenset[int]) -> bool:
        """Return whether a second change that leaves tests failing fixes more than half of all, beyond chance."""
        return bool(helped) and (candidate.base is None or len(helped) >= IN_HALF * len(self.wanted))

    def _record_broken(self, candidate: Candidate, effort: Effort, *, slow: bool = False) -> None:
        """Record that it makes a test pass, but another one fails that passed, or takes too long."""
        if candidate.base is None:
            self._halves.append(PartialPatch(candidate=candidate, message=""))
        self._record_failure(candidate, effort, "", slow=slow, helped=True)

    def _record_failure(
        self, candidate: Candidate, effort: Effort, said: str, *, slow: bool, helped: bool = False
    ) -> None:
        self.tried += 1
        self._last_rank = max(self._last_rank, candidate.rank)
        if candidate.base is None and not effort.number:  # on a retry it is recorded already
            # By rank, not in the order in which the workers happened to end.
            bisect.insort(self._singles, candidate, key=lambda each: each.rank)
            del self._singles[MOST_SINGLES:]
        if candidate.base is None and said:
            self._halves.append(PartialPatch(candidate=candidate, message=said))
        elif (
            candidate.base is not None
            and said
            and removes_exception(said, self._bases_known.get(candidate.base.rank))
        ):
            self._further.append(PartialPatch(candidate=candidate, message=said))
        if slow:
            self._slow.add_candidate(candidate, effort, helped=helped)

    async def _passes_full_suite(self, found: PlausiblePatch, effort: Effort) -> bool:
        whole = FullSuiteRun(ask=self._ask, replies=self.replies, deadline=self.latest, files=self.files)
        good = await whole.passes_with(found, effort)
        self.checked, self.to_the_end = whole.checked, self.to_the_end and whole.to_the_end
        return good
