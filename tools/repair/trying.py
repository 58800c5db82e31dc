"""Candidates tried in order, screened many at a time; the best of the first good ones is what comes of it."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.repair.asking import Asking, Effort
from tools.repair.candidates import Candidate
from tools.repair.choosing import Found, trust
from tools.repair.clock import JOBS
from tools.repair.deepening import Base, Half, got_past
from tools.repair.edits import Edit
from tools.repair.feed import Feed
from tools.repair.finds import Finds
from tools.repair.sameness import Sameness
from tools.repair.server import Message, Replies, Requests
from tools.repair.slow import PATIENT, SlowOnes
from tools.repair.spectrum import Spectrum, Test
from tools.repair.templates import Source
from tools.repair.whole import WholeSuite

# Candidates in one child: few at first, so that an easy one is found at once; then as many as share a child well.
FIRST_BATCH, BATCH = 8, 64
# Batches on their way, so that no child waits for the next.
AHEAD = 2 * JOBS
# Turns of loops and calls that a candidate gets at first; those that want more come again at the end.
FUEL = 20_000
# Of the time for a search, what is kept for that last word once there is something to be said it of.
RESERVE = 0.25
# Cold trials at a time: each is a test session of its own, which costs what hundreds of others do. So there is one for
# every so many others, until those are used up.
COLD_AHEAD, PER_COLD = 1, 300
# Singles that are kept to be paired: those tried first are the likeliest.
MOST_SINGLES = 400
# Of the failing tests, the share that two changes must mend for a third to be looked for.
IN_HALF = 0.6
# Lots that left the tests' state changed before candidates get a child each, when it is one of so many.
MOST_SPOILT, OFTEN = 2, 8

FIRST = Effort(number=0, fuel=FUEL, factor=1.0, ceiling=1.5)


@dataclass(slots=True, kw_only=True)
class Trying:
    """Tries changes that are to make `wanted` pass (some of them at least) and break no passing test.

    name: tells the replies to this search from late ones to another
    deadline: by the clock of the replies
    latest: when the whole suite must have had its word on what was found in time
    cold_start: wall seconds that a new session may take to come to its first test
    files: the test files that were collected; empty for all of them
    checked: tests of the whole suite that passed with the patch
    to_the_end: the whole suite was run; False when there was no time for more than the files
    others: what would do as well as what was chosen, next best first; not run against the whole suite
    """

    name: str
    root: Path
    workers: Mapping[str, Requests]
    replies: Replies
    spectrum: Spectrum
    sources: dict[str, Source]
    wanted: Sequence[Test]
    deadline: float
    latest: float
    cold_start: float
    files: Sequence[str] = ()
    on_progress: Callable[[str], None]
    tried: int = 0
    checked: int = 0
    to_the_end: bool = True
    others: list[Found] = field(default_factory=list)
    _begun: float = field(init=False)
    _ask: Asking = field(init=False)
    _good: Finds = field(init=False)
    _same: Sameness = field(init=False)
    _singles: list[Candidate] = field(default_factory=list)
    _halves: list[Half] = field(default_factory=list)
    _further: list[Half] = field(default_factory=list)
    _bases_known: dict[int, Base | None] = field(default_factory=dict)
    _judged_by: dict[int, Sequence[Test]] = field(default_factory=dict)
    _seen: set[tuple[Edit, ...]] = field(default_factory=set)
    _last_rank: int = 0
    _slow: SlowOnes = field(default_factory=SlowOnes)
    _cold: list[Candidate] = field(default_factory=list)
    _in_cold: int = 0
    _cold_tried: int = 0
    _spoilt: int = 0
    _screened: int = 0
    _many: bool = False
    _hurried: bool = False

    def __post_init__(self) -> None:
        self._begun = self.replies.clock.now()
        self._good = Finds(len(self.wanted))
        self._ask = Asking(
            name=self.name,
            root=self.root,
            workers=self.workers,
            spectrum=self.spectrum,
            sources=self.sources,
            wanted=self.wanted,
            cold_start=self.cold_start,
        )
        self._same = Sameness(ask=self._ask)

    async def _try_all(self, candidates: Iterator[Candidate], effort: Effort) -> Found | None:
        feed = Feed(candidates)
        while True:
            await self._until_nothing_is_open(feed, effort)
            best = self._good.best
            if best is None or await self._is_the_last_word(best, effort):
                self.others = [each for each in self._good.in_order() if each is not best]
                return best
            self._good.found.remove(best)  # and on, with what it had kept from being tried

    async def _until_nothing_is_open(self, feed: Feed, effort: Effort) -> None:
        while self.replies.clock.now() < self._stop:
            ahead, wanted = (
                (JOBS, self._good.worth_waiting) if effort.slow else (AHEAD, self._good.worth_trying)
            )
            while len(self._ask.open) < ahead and (batch := feed.batch(self._size(effort), wanted)):
                await self._screen(batch, effort)
            await self._try_cold(
                effort, all_of_them=not self._ask.open and (bool(self._good.found) or not self._hurried)
            )
            if not self._ask.open:
                return
            reply = await self.replies.until(self._stop)
            if reply is None or reply["kind"] == "ended":
                self._forget()
                return
            if reply.get("id") in self._ask.open:
                await self._judge(reply, effort)
        self._forget()

    @property
    def _stop(self) -> float:
        """When no more is looked for: what is at hand is lost unless there is time to try it on the whole suite."""
        return self.deadline - (RESERVE * (self.deadline - self._begun) if self._good.found else 0.0)

    def _forget(self) -> None:
        self._ask.open.clear()
        self._same.forget()
        self._in_cold = 0

    def _size(self, effort: Effort) -> int:
        """How many candidates to hand out at once; slow ones go out in small lots, which several children share."""
        if effort.number:
            return 1 if effort.slow else 4
        return min(BATCH, FIRST_BATCH << self._ask.asked // AHEAD)

    # ── what the workers are asked, and what they say ────────────────────────────────────────────

    async def _screen(self, batch: list[Candidate], effort: Effort) -> None:
        if self._spoilt > MOST_SPOILT and self._spoilt * OFTEN > self._screened:
            for candidate in batch:
                await self._screen_alone(candidate, effort)
            return
        await self._ask.screen(batch, [self._judges(candidate) for candidate in batch], effort)

    async def _screen_alone(self, candidate: Candidate, effort: Effort) -> None:
        await self._ask.screen([candidate], [self._judges(candidate)], effort, alone=True)

    def _judges(self, candidate: Candidate) -> Sequence[Test]:
        """What a candidate is judged by before all else: tests that its base does not mend already."""
        base = candidate.base
        return self.wanted[:1] if base is None else self._judged_by.get(base.rank, self.wanted[:1])

    async def _try_cold(self, effort: Effort, *, all_of_them: bool) -> None:
        """Candidates outside functions, the likeliest first, as long as they could be chosen."""
        self._cold.sort(key=lambda each: each.rank)
        while (
            self._in_cold < COLD_AHEAD
            and self._cold
            and self._good.worth_a_session(self._cold[0], self._cold_tried)
        ):
            if not all_of_them and self._cold_tried * PER_COLD >= self.tried:
                break
            self._in_cold += 1
            self._cold_tried += 1
            await self._ask.trial(self._cold.pop(0), effort, "cold")

    async def _judge(self, reply: Message, effort: Effort) -> None:
        about = self._ask.open.pop(reply["id"])
        self._in_cold -= reply["from"] == "cold"
        if reply["kind"] == "probed":
            for told in self._same.note(reply):
                self._good.found = [told.of(each) for each in self._good.found]
            return
        if reply["kind"] == "tried":
            await self._judge_one(about[0], reply, effort)
            return
        self._ask.words.update(reply.get("before", ()))
        self._ask.hooked.update(reply.get("hooked", ()))
        if not reply["steady"]:
            if (
                len(about) > FIRST_BATCH
            ):  # one of them left something changed: the smaller the lot, the fewer suffer
                for start in range(0, len(about), FIRST_BATCH):
                    await self._screen(about[start : start + FIRST_BATCH], effort)
                return
            self._spoilt += 1
        self._screened += len(about) > 1
        for candidate, verdict, said in zip(about, reply["verdicts"], reply["said"], strict=True):
            if verdict in ("passed", "unknown"):
                await self._ask.trial(candidate, effort, "warm")
            elif not reply["steady"] and verdict != "invalid":
                await self._screen_alone(candidate, effort)
            elif verdict == "placed":  # passed, as far as can be told without a new import
                self._in_cold += 1
                await self._ask.trial(candidate, effort, "cold")
            elif verdict == "module" or (verdict == "unplaced" and not candidate.suspect.failing):
                self._cold.append(candidate)
            elif verdict == "breaks":
                self._note_broken(candidate, effort)
            elif verdict != "invalid":
                self._note_failure(candidate, effort, said, slow=verdict == "timeout")

    async def _judge_one(self, candidate: Candidate, reply: Message, effort: Effort) -> None:
        if reply["verdict"] == "module":
            self._cold.append(candidate)
            return
        helped = frozenset(reply["passed"]) & {test.index for test in self.wanted}
        if reply["verdict"] == "passed" and self._is_enough(candidate, helped):
            self.tried += 1
            passing = len(self._ask.passing_near(candidate))
            kind = trust(candidate, passing)
            found = Found(candidate=candidate, helped=helped, trust=kind, near=passing + len(helped))
            self._good.found.append(found)
            await self._same.compare(candidate)
            self.on_progress(f"{candidate.path}:{candidate.suspect.line}: {candidate.why}")
        else:
            slow = reply["verdict"] == "timeout" and not reply["stage"]
            if slow and self._slow.deserves(candidate, passed=len(helped), failed=len(reply["failed"])):
                await self._ask.trial(candidate, PATIENT, "warm")
                return
            if helped:
                self._note_broken(candidate, effort, slow=slow)
            else:
                self._note_failure(candidate, effort, "", slow=slow)

    def _is_enough(self, candidate: Candidate, helped: frozenset[int]) -> bool:
        """A second change that leaves tests failing must mend more than half of all, so that it is no chance."""
        return bool(helped) and (candidate.base is None or len(helped) >= IN_HALF * len(self.wanted))

    def _note_broken(self, candidate: Candidate, effort: Effort, *, slow: bool = False) -> None:
        """It makes a test pass, but another fails that passed, or takes too long."""
        if candidate.base is None:
            self._halves.append(Half(candidate=candidate, said=""))
        self._note_failure(candidate, effort, "", slow=slow, helped=True)

    def _note_failure(
        self, candidate: Candidate, effort: Effort, said: str, *, slow: bool, helped: bool = False
    ) -> None:
        self.tried += 1
        self._last_rank = max(self._last_rank, candidate.rank)
        if candidate.base is None and not effort.number:  # tried again, it is noted already
            # By rank, not in the order in which the workers happened to end.
            bisect.insort(self._singles, candidate, key=lambda each: each.rank)
            del self._singles[MOST_SINGLES:]
        if candidate.base is None and said:
            self._halves.append(Half(candidate=candidate, said=said))
        elif (
            candidate.base is not None and said and got_past(said, self._bases_known.get(candidate.base.rank))
        ):
            self._further.append(Half(candidate=candidate, said=said))
        if slow:
            self._slow.note(candidate, effort, helped=helped)

    async def _is_the_last_word(self, found: Found, effort: Effort) -> bool:
        whole = WholeSuite(ask=self._ask, replies=self.replies, deadline=self.latest, files=self.files)
        good = await whole.passes_with(found, effort)
        self.checked, self.to_the_end = whole.checked, self.to_the_end and whole.to_the_end
        return good
