"""The search for one patch: candidates in order, screened many at a time, the best of the first good ones wins."""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.repair.candidates import Candidate
from tools.repair.choosing import Found, trust
from tools.repair.localization import covering, own_lines
from tools.repair.pairs import pairs
from tools.repair.server import JOBS, Message, Replies, Worker
from tools.repair.spectrum import Spectrum, Test
from tools.repair.templates import Source

# Candidates in one child: few at first, so that an easy one is found at once; then as many as share a child well.
FIRST_BATCH, BATCH = 8, 64
# Batches on their way, so that no child waits for the next.
AHEAD = 2 * JOBS
# Turns of loops and calls that a candidate gets at first; those that want more come again at the end.
FUEL = 20_000
PLENTY = 1 << 40
# A patch that helps only some of the failing tests is taken when this many more candidates, and as many
# again as it took to find it, brought none that helps them all.
PATIENCE = 400
# After the first patch that helps them all, so many more are looked at, while they are about as likely: of
# patches that pass the same tests, the smallest change is the right one more often than the first. When the
# first is of a kind that passes tests without being right, the search goes on much longer for a better one.
ALTERNATIVES, ALIKE = 40, 0.5
LONGER, LESS_ALIKE = 600, 0.05
# Candidates that were only too slow are tried again, fewer each time: (how many, times the limit, seconds at most).
RETRIES = ((120, 1.0, 1.5), (24, 50.0, 10.0))
# The whole suite is the last word: no test may fail there for want of a little time.
WHOLE_FACTOR, WHOLE_FLOOR = 3.0, 5.0
# Of the time for a search, what is kept for that last word once there is something to be said it of.
RESERVE = 0.25
# Cold trials at a time: each is a test session of its own, which costs what hundreds of others do. Only so many
# of them are worth it to find something better than what is at hand.
COLD_AHEAD, MOST_COLD = 1, 6
# Singles that are kept to be paired: those tried first are the likeliest.
MOST_SINGLES = 400
# Batches that left the tests' state changed before candidates get a child each.
MOST_SPOILT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long a candidate may take: turns of loops, times the tests' limits, and CPU seconds a test at most."""

    number: int
    fuel: int
    factor: float
    ceiling: float


@dataclass(slots=True, kw_only=True)
class Search:
    """Looks for a patch that makes `wanted` pass (some of them at least) and breaks no passing test.

    name: tells the replies to this search from late ones to another
    cold_start: wall seconds that a new session may take to come to its first test
    others: what would do as well as what was chosen, next best first; not run against the whole suite
    """

    name: str
    root: Path
    workers: Mapping[str, Worker]
    replies: Replies
    spectrum: Spectrum
    sources: dict[str, Source]
    wanted: Sequence[Test]
    deadline: float
    cold_start: float
    on_progress: Callable[[str], None]
    tried: int = 0
    others: list[Found] = field(default_factory=list)
    _begun: float = field(default_factory=time.monotonic)
    _asked: int = 0
    _open: dict[str, list[Candidate]] = field(default_factory=dict)
    _good: list[Found] = field(default_factory=list)
    _singles: list[Candidate] = field(default_factory=list)
    _last_rank: int = 0
    _slow: list[Candidate] = field(default_factory=list)
    _near: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    _cold: list[Candidate] = field(default_factory=list)
    _in_cold: int = 0
    _cold_tried: int = 0
    _spoilt: int = 0

    async def run(self, candidates: Iterator[Candidate]) -> Found | None:
        """The best patch found in time, or None."""
        tests = self.spectrum.tests
        brief: Message = {
            "texts": {str(self.root / path): source.text for path, source in self.sources.items()},
            "ids": [test.id for test in tests],
            "limits": [test.limit for test in tests],
        }
        for worker in self.workers.values():
            await worker.send(brief)
        found = await self._try_all(candidates, Effort(number=0, fuel=FUEL, factor=1.0, ceiling=1.5))
        for number, (most, factor, ceiling) in enumerate(RETRIES, 1):
            if found is not None or not self._slow:
                break
            again = sorted(self._slow, key=lambda each: each.rank)[:most]
            self._slow.clear()
            effort = Effort(number=number, fuel=PLENTY, factor=factor, ceiling=ceiling)
            found = await self._try_all(iter(again), effort)
        return found

    async def run_pairs(self) -> Found | None:
        """Two changes at once, of those that were tried one by one."""
        together = pairs(self._singles, first_rank=self._last_rank + 1)
        return await self._try_all(together, Effort(number=0, fuel=FUEL, factor=1.0, ceiling=1.5))

    async def _try_all(self, candidates: Iterator[Candidate], effort: Effort) -> Found | None:
        feed = _Feed(candidates)
        while True:
            await self._until_nothing_is_open(feed, effort)
            best = self._best()
            if best is None or await self._holds_for_the_whole_suite(best, effort):
                self.others = [each for each in self._in_order() if each is not best]
                return best
            self._good.remove(best)  # and on, with what it had kept from being tried

    async def _until_nothing_is_open(self, feed: _Feed, effort: Effort) -> None:
        while (left := self._time_left()) > 0:
            while len(self._open) < AHEAD and (batch := feed.batch(self._size(effort), self._worth_trying)):
                await self._screen(batch, effort)
            await self._try_cold(effort)
            if not self._open:
                return
            reply = await self.replies.next(left)
            if reply is None or reply["kind"] == "ended":
                self._forget()
                return
            if reply.get("id") in self._open:
                await self._judge(reply, effort)
        self._forget()

    def _time_left(self) -> float:
        """Seconds to look for more: what is at hand is lost unless there is time to try it on the whole suite."""
        kept = RESERVE * (self.deadline - self._begun) if self._good else 0.0
        return self.deadline - kept - time.monotonic()

    def _forget(self) -> None:
        self._open.clear()
        self._in_cold = 0

    def _size(self, effort: Effort) -> int:
        """How many candidates to hand out at once; slow ones go out in small lots, which several children share."""
        if effort.number:
            return 4
        return min(BATCH, FIRST_BATCH << self._asked // AHEAD)

    # ── what to try, and which of the good ones to take ──────────────────────────────────────────

    def _worth_trying(self, candidate: Candidate) -> bool:
        """Whether a candidate could still be chosen, given what is at hand."""
        return self._in_reach(candidate, self._good)

    def _in_reach(self, candidate: Candidate, good: Sequence[Found]) -> bool:
        leader = self._leader(good)
        if leader is not None:
            return self._rivals(leader, candidate)
        first = min((each.candidate.rank for each in good), default=None)
        return first is None or candidate.rank <= PATIENCE + 2 * first

    def _worth_its_cost(self, candidate: Candidate) -> bool:
        leader = self._leader(self._good)
        if leader is None:
            return self._worth_trying(candidate)
        return candidate.rank < leader.candidate.rank and self._cold_tried < MOST_COLD

    def _leader(self, good: Sequence[Found]) -> Found | None:
        """The likeliest that helps every wanted test; one of a kind to be trusted, if there is any."""
        full = [found for found in good if len(found.helped) == len(self.wanted)]
        return min(full, key=lambda each: (each.doubtful, each.candidate.rank), default=None)

    def _rivals(self, leader: Found, candidate: Candidate) -> bool:
        most, alike = (LONGER, LESS_ALIKE) if leader.doubtful else (ALTERNATIVES, ALIKE)
        first = leader.candidate
        return candidate.rank <= first.rank + most and candidate.priority >= first.priority * alike

    def _best(self) -> Found | None:
        return next(iter(self._in_order()), None)

    def _in_order(self) -> list[Found]:
        """The good ones, best first: those that would have been met one at a time, whoever was quicker."""
        known: list[Found] = []
        for each in sorted(self._good, key=lambda each: each.candidate.rank):
            if not self._in_reach(each.candidate, known):
                break
            known.append(each)
        return sorted(known, key=lambda each: each.preference)

    # ── what the workers are asked, and what they say ────────────────────────────────────────────

    async def _screen(self, batch: list[Candidate], effort: Effort) -> None:
        first = self.wanted[0]
        if self._spoilt > MOST_SPOILT:
            for candidate in batch:
                await self._try(candidate, effort, "warm")
            return
        await self._ask("warm", batch, {
            "screen": first.index,
            "endless": first.endless,
            "candidates": [self._edits(candidate) for candidate in batch],
            "fuel": effort.fuel,
            "seconds": min(effort.ceiling, first.limit * effort.factor),
        })  # fmt: skip

    async def _try(self, candidate: Candidate, effort: Effort, mode: str) -> None:
        """From fresh state: the failing tests, then the passing ones that run the statement."""
        await self._ask(mode, [candidate], {
            "edits": self._edits(candidate),
            "stages": [
                {"tests": [test.index for test in self.wanted], "stop": "unless-some"},
                {"tests": self._passing_near(candidate), "stop": "first"},
            ],
            "factor": effort.factor,
            "ceiling": max(effort.ceiling, 1.5),
            "start": self.cold_start,
        })  # fmt: skip

    async def _try_cold(self, effort: Effort) -> None:
        """Candidates outside functions, the likeliest first, as long as they could be chosen."""
        self._cold.sort(key=lambda each: each.rank)
        while self._in_cold < COLD_AHEAD and self._cold and self._worth_its_cost(self._cold[0]):
            self._in_cold += 1
            self._cold_tried += 1
            await self._try(self._cold.pop(0), effort, "cold")

    async def _ask(self, mode: str, about: list[Candidate], message: Message) -> None:
        self._asked += 1
        name = f"{self.name}.{self._asked}"
        self._open[name] = about
        await self.workers[mode].send({"id": name, **message})

    def _edits(self, candidate: Candidate) -> list[list[object]]:
        changes = [(each.path, each.change) for each in candidate.parts]
        return [[str(self.root / path), each.start, each.end, each.text] for path, each in changes]

    def _passing_near(self, candidate: Candidate) -> list[int]:
        """Passing tests that run what is changed, in their order."""
        found: set[int] = set()
        for each in candidate.parts:
            place = each.path, each.suspect.line
            if place not in self._near:
                passing = self.spectrum.standing("passed")
                lines = own_lines(each.suspect.statement)
                self._near[place] = [t.index for t in covering(passing, each.path, lines)]
            found.update(self._near[place])
        return sorted(found)

    async def _judge(self, reply: Message, effort: Effort) -> None:
        about = self._open.pop(reply["id"])
        self._in_cold -= reply["from"] == "cold"
        if reply["kind"] == "tried":
            await self._judge_one(about[0], reply, effort)
            return
        if not reply["steady"]:
            self._spoilt += 1
        for candidate, verdict in zip(about, reply["verdicts"], strict=True):
            if verdict in ("passed", "unknown") or (not reply["steady"] and verdict != "invalid"):
                await self._try(candidate, effort, "warm")
            elif verdict == "module":
                self._cold.append(candidate)
            elif verdict != "invalid":
                self._note_failure(candidate, effort, slow=verdict == "timeout")

    async def _judge_one(self, candidate: Candidate, reply: Message, effort: Effort) -> None:
        if reply["verdict"] == "module":
            self._cold.append(candidate)
            return
        helped = frozenset(reply["passed"]) & {test.index for test in self.wanted}
        if reply["verdict"] == "passed" and helped:
            self.tried += 1
            near = len(self._passing_near(candidate)) + len(helped)
            kind = trust(candidate, self.sources)
            self._good.append(Found(candidate=candidate, helped=helped, trust=kind, near=near))
            self.on_progress(f"{candidate.path}:{candidate.suspect.line}: {candidate.why}")
        else:
            slow = reply["verdict"] == "timeout" and not reply["stage"]
            self._note_failure(candidate, effort, slow=slow)

    def _note_failure(self, candidate: Candidate, effort: Effort, *, slow: bool) -> None:
        self.tried += 1
        self._last_rank = max(self._last_rank, candidate.rank)
        if candidate.also is None and not effort.number:  # tried again, it is noted already
            # By rank, not in the order in which the workers happened to end.
            bisect.insort(self._singles, candidate, key=lambda each: each.rank)
            del self._singles[MOST_SINGLES:]
        if slow:
            self._slow.append(candidate)

    async def _holds_for_the_whole_suite(self, found: Found, effort: Effort) -> bool:
        """Every test that passed and those it helps, everything imported anew with the patch, in the original order."""
        tests = [t.index for t in self.spectrum.tests if t.standing == "passed" or t.index in found.helped]
        await self._ask("cold", [found.candidate], {
            "edits": self._edits(found.candidate),
            "stages": [{"tests": tests, "stop": "first"}],
            "factor": max(effort.factor, WHOLE_FACTOR),
            "ceiling": max(effort.ceiling, 1.5) * WHOLE_FACTOR,
            "floor": WHOLE_FLOOR,
            "start": self.cold_start,
        })  # fmt: skip
        (name,) = self._open
        while (reply := await self.replies.next(self.deadline - time.monotonic())) is not None:
            if reply.get("id") == name:
                self._open.clear()
                return bool(reply["verdict"] == "passed")
            if reply["kind"] == "ended":
                break
        self._open.clear()
        return False


class _Feed:
    """Candidates in lots; the one that was not wanted yet is kept for later."""

    def __init__(self, candidates: Iterator[Candidate]) -> None:
        self._candidates = candidates
        self._held: Candidate | None = None

    def batch(self, size: int, wanted: Callable[[Candidate], bool]) -> list[Candidate]:
        found: list[Candidate] = []
        while len(found) < size:
            self._held = self._held or next(self._candidates, None)
            if self._held is None or not wanted(self._held):
                break
            found.append(self._held)
            self._held = None
        return found
