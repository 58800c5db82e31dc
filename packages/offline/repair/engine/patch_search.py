"""Search for one patch: a single change, else a second on top of a first, a third on top of both, any two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from packages.offline.repair.engine.candidates.candidate_generation import MANY_STATEMENTS, Candidate
from packages.offline.repair.engine.candidates.candidate_stream import FirstCandidates
from packages.offline.repair.engine.candidates.change_pairs import MOST as MOST_PAIRS
from packages.offline.repair.engine.candidates.change_pairs import SINGLES, generate_pairs
from packages.offline.repair.engine.candidates.plausible_patches import PlausiblePatches
from packages.offline.repair.engine.candidates.ranking import FEW_TESTS, PlausiblePatch
from packages.offline.repair.engine.multi_edit_search import (
    MOST_SUSPECTS,
    PartialPatch,
    SearchBase,
    build_base,
    generate_second_changes,
    get_base_outcomes,
    select_different_tests,
    select_promising,
)
from packages.offline.repair.engine.validation.retry_slow import RETRIES, RETRIES_AT_LAST, Retry
from packages.offline.repair.engine.validator import FIRST, MOST_SINGLES, CandidateValidator
from sandbox.lazy_dataclass import dataclass

# A single change is mostly among the first FIRST_SINGLES, if there is one; then pairs are tried,
# FIRST_SECONDS at first. Where many statements are suspicious, it is later, by up to PER_SUSPECT candidates
# for each.
FIRST_SINGLES, FIRST_SECONDS, PER_SUSPECT = 4000, 3000, 20
# Pairs are tried after this many already, if a failing test passes with one of the changes.
FIRST_IN_PART = 1500
# Second changes that are tried on top of others, and their share of the time when a change helps in part.
MOST_SECONDS, IN_PART = 10_000, 0.5
# The same in projects, where time may be left after all likely changes were tried.
AT_LAST, AT_LAST_SUSPECTS = 200_000, 400


@dataclass(slots=True, kw_only=True)
class PatchSearch(CandidateValidator):
    """Search for a patch that makes `wanted` pass (some of them at least) and breaks no passing test."""

    async def find_patch(self, candidates: Iterator[Candidate], suspects: int = 0) -> PlausiblePatch | None:
        """Return the best patch found in time: a single change, else two or three; None if there is none.

        suspects: number of statements that the candidates are for
        """
        singles = max(FIRST_SINGLES, PER_SUSPECT * suspects)
        # Trials that take a session of their own, or long, must not delay thousands of quick candidates.
        self._many = self._hurried = suspects > MANY_STATEMENTS
        single = await self.try_single_changes(
            FirstCandidates(candidates, FIRST_IN_PART, lambda: bool(self._good.found))
        )
        if single is None and (self._many or not any(half.message == "" for half in self._halves)):
            # There is no sign that one of two faults is fixed: a single change is missing. With many
            # statements, some change always lets the failing test pass and breaks others.
            more = FirstCandidates(candidates, singles - FIRST_IN_PART, lambda: bool(self._good.found))
            single = await self.try_single_changes(more)
        if single is not None and len(single.helped) == len(self.wanted):
            return single
        alternatives = self.others
        double = await self.search_second_changes(single, FIRST_SECONDS)
        if double is not None and (single is None or len(double.helped) > len(single.helped)):
            all_of_them = len(double.helped) == len(self.wanted)
            return double if all_of_them else await self._improve_partial(double, candidates)
        if single is not None:
            self.others = alternatives
            return single
        return await self._search_longer(candidates)

    async def find_further(self, candidates: Iterator[Candidate], deadline: float) -> PlausiblePatch | None:
        """Go on where a search found nothing until its own deadline; `candidates` are those that are left.

        First come those whose trial the deadline broke off: up to some hundred, the likeliest of all that are left.
        """
        self.deadline = deadline
        if self.replies.clock.now() >= deadline:
            return None
        broken_off, self._unanswered = self._unanswered, []
        return await self._search_longer(chain(sorted(broken_off, key=lambda each: each.rank), candidates))

    async def _search_longer(self, candidates: Iterator[Candidate]) -> PlausiblePatch | None:
        """Try changes less likely than the first ones."""
        self._hurried = False
        return (
            await self.try_single_changes(candidates)
            or await self.search_third_changes(FIRST_SECONDS)
            or await self.search_second_changes(None, MOST_SECONDS)
            or await self.search_third_changes(MOST_SECONDS)
            or await self.try_pairs()
            or await self.retry_slow(RETRIES_AT_LAST)
            or (await self.try_unlikely_changes() if self._many else None)
        )

    async def _improve_partial(self, part: PlausiblePatch, candidates: Iterator[Candidate]) -> PlausiblePatch:
        """Return a patch that fixes more, if half of the time is enough, else the part: a third change may follow."""
        whole, others = self.deadline, self.others
        self.deadline -= (self.deadline - self.replies.clock.now()) / 2
        found = await self._search_longer(candidates)
        self.deadline = whole
        if found is not None and len(found.helped) > len(part.helped):
            return found
        self.others = others
        return part

    def _has_too_few_tests(self) -> bool:
        """Return whether two changes at once pass so few tests by chance."""
        return len(self.spectrum.select_tests("passed", "failed")) < FEW_TESTS

    async def try_single_changes(self, candidates: Iterator[Candidate]) -> PlausiblePatch | None:
        """Return the best single change, or None."""
        await self._ask.send_context()
        self._good, self.others = PlausiblePatches(len(self.wanted), self._many), []
        retries = [each for each in RETRIES if each.promising or not self._hurried]
        return await self._find_best(candidates, FIRST) or await self.retry_slow(retries)

    async def retry_slow(self, retries: Sequence[Retry]) -> PlausiblePatch | None:
        """Return the best of the single changes that were too slow, with more time for each; None if none passes."""
        for retry in retries:
            again = self._slow.take_retries(retry)
            found = await self._find_best(iter(again), retry.effort) if again else None
            if found is not None:
                return found
        return None

    async def search_second_changes(
        self, in_part: PlausiblePatch | None, most: int, suspects: int = MOST_SUSPECTS
    ) -> PlausiblePatch | None:
        """Return a second change on top of a first that made progress; `in_part` fixes some of the tests.

        most, suspects: maximum number of second changes, and of statements on top of each first change
        """
        if self._has_too_few_tests():
            return None
        self.on_progress("searching: a second change on top of a first")
        whole = self.deadline
        if in_part is not None:
            self._halves.append(PartialPatch(candidate=in_part.candidate, message=""))
            self.deadline -= IN_PART * (self.deadline - self.replies.clock.now())
        found = await self._search_on_bases(self._halves, most, suspects)
        self.deadline = whole
        return found

    async def search_third_changes(self, most: int) -> PlausiblePatch | None:
        """Return a third change on top of two, each of which made progress: three faults that hide one another."""
        halves, self._further = self._further, []
        if not halves:
            return None
        self.on_progress("searching: a third change on top of two")
        return await self._search_on_bases(halves, most, MOST_SUSPECTS)

    async def _search_on_bases(
        self, halves: Sequence[PartialPatch], most: int, suspects: int
    ) -> PlausiblePatch | None:
        self._good, self.others = PlausiblePatches(len(self.wanted), self._many), []
        kept, self._cold = self._cold, []
        bases = await self._probe_bases(select_promising(halves))
        self._judged_by = {base.candidate.rank: select_different_tests(base.failing) for base in bases}
        seconds = generate_second_changes(bases, self._last_rank + 1, most, self._seen, suspects)
        found = await self._find_best(seconds, FIRST)
        self._cold = kept
        return found

    async def try_pairs(self, singles: int = SINGLES, most: int = MOST_PAIRS) -> PlausiblePatch | None:
        """Try pairs of the changes that were tried one by one: `singles` of these, `most` pairs."""
        if self._has_too_few_tests():
            return None
        self.on_progress("searching: two changes at once")
        together = generate_pairs(self._singles, self._last_rank + 1, singles, most, self._seen)
        return await self._find_best(together, FIRST)

    async def try_unlikely_changes(self) -> PlausiblePatch | None:
        """Try pairs of changes that were too unlikely before, until the time is used up."""
        return await self.search_second_changes(None, AT_LAST, AT_LAST_SUSPECTS) or await self.try_pairs(
            MOST_SINGLES, AT_LAST
        )

    async def _probe_bases(self, candidates: Sequence[Candidate]) -> list[SearchBase]:
        """Return the changes that made progress, with their tests' outcomes and coverage; each is probed once."""
        for candidate in candidates:
            if candidate.rank not in self._bases_known:
                await self._ask.request_probe(candidate)
        while self._ask.open and (reply := await self.replies.wait_until(self.deadline)) is not None:
            if reply["kind"] == "ended":
                break
            if reply.get("id") in self._ask.open:
                (candidate,) = self._ask.open.pop(reply["id"])
                usable = not reply["verdict"]
                wanted = get_base_outcomes(candidate, self.wanted, self._bases_known)
                self._bases_known[candidate.rank] = (
                    build_base(candidate, reply, self.sources, self.spectrum, wanted) if usable else None
                )
        self._drop_requests()
        known = (self._bases_known.get(each.rank) for each in candidates)
        return sorted((each for each in known if each is not None), key=lambda each: each.candidate.rank)
