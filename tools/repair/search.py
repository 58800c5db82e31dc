"""The search for one patch: candidates in order, several at a time, the lowest-ranked good one wins."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.repair.candidates import Candidate
from tools.repair.localization import covering, own_lines
from tools.repair.server import JOBS, Message, Replies, Worker
from tools.repair.spectrum import Spectrum, Test
from tools.repair.templates import Source

# Sent ahead of what is decided, so that no child waits for the next candidate.
AHEAD = 4 * JOBS
# A patch that helps only some of the failing tests is taken when this many more candidates, and as many
# again as it took to find it, brought none that helps them all.
PATIENCE = 400
# After the first patch that helps them all, so many more are looked at, while they are about as likely: of
# patches that pass the same tests, the smallest change is the right one more often than the first.
ALTERNATIVES, ALIKE = 40, 0.5
# Candidates that were only too slow are tried again with limits this much wider, up to so many seconds.
WIDER, WIDEST = 50.0, 10.0
MOST_RETRIED = 30
# A cold child starts with imports and collection, which the limits of single tests do not count.
COLD_START = 20.0
# The whole suite is the last word: no test may fail there for want of a little time.
WHOLE_FACTOR = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A candidate that helps and breaks nothing. `helped`: indexes of the tests that pass with it."""

    candidate: Candidate
    helped: frozenset[int]


@dataclass(slots=True, kw_only=True)
class Trial:
    """A candidate on its way: warm or cold against the failing tests, then cold against the whole suite."""

    candidate: Candidate
    id: str
    whole: bool = False
    helped: frozenset[int] = frozenset()


@dataclass(slots=True, kw_only=True)
class Search:
    """Looks for a patch that makes `wanted` pass (some of them at least) and breaks no passing test.

    name: tells the replies to this search from late ones to another
    """

    name: str
    root: Path
    workers: Mapping[str, Worker]
    replies: Replies
    spectrum: Spectrum
    sources: Mapping[str, Source]
    wanted: Sequence[Test]
    deadline: float
    on_progress: Callable[[str], None]
    tried: int = 0
    _open: dict[str, Trial] = field(default_factory=dict)
    _good: list[Found] = field(default_factory=list)
    _slow: list[Candidate] = field(default_factory=list)
    _near: dict[ast.stmt, list[int]] = field(default_factory=dict)

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
        found = await self._try_all(candidates, 1.0)
        if found is None and self._slow:
            found = await self._try_all(iter(self._slow[:MOST_RETRIED]), WIDER)
        return found

    async def _try_all(self, candidates: Iterator[Candidate], factor: float) -> Found | None:
        held = next(candidates, None)
        while time.monotonic() < self.deadline:
            while held is not None and len(self._open) < AHEAD and self._worth_trying(held):
                trial = Trial(candidate=held, id=f"{self.name}.{factor:g}.{held.rank}")
                self._open[trial.id] = trial
                await self.workers["warm"].send(self._request(trial, factor))
                held = next(candidates, None)
            if not self._open:
                break
            reply = await self.replies.next(self.deadline - time.monotonic())
            if reply is None or reply["kind"] == "ended":
                break
            if reply["kind"] == "tried" and reply["id"] in self._open:
                await self._judge(reply, factor)
        self._open.clear()
        return min(self._good, key=self._preference, default=None)

    def _worth_trying(self, candidate: Candidate) -> bool:
        """Whether a candidate could still be chosen, given what is at hand."""
        leader = self._leader()
        if leader is not None:
            near = candidate.rank <= leader.rank + ALTERNATIVES
            return near and candidate.priority >= leader.priority * ALIKE
        return not self._good or candidate.rank <= PATIENCE + 2 * self._good[0].candidate.rank

    def _leader(self) -> Candidate | None:
        """The likeliest that helps every wanted test, or will unless the whole suite objects."""
        whole = [(trial.candidate, trial.helped) for trial in self._open.values() if trial.whole]
        known = [*whole, *((found.candidate, found.helped) for found in self._good)]
        full = [candidate for candidate, helped in known if len(helped) == len(self.wanted)]
        return min(full, key=lambda candidate: candidate.rank, default=None)

    def _preference(self, found: Found) -> tuple[int, int, int]:
        """The most tests helped, then the smallest change, then the likeliest."""
        return -len(found.helped), found.candidate.size, found.candidate.rank

    def _request(self, trial: Trial, factor: float) -> Message:
        candidate, change = trial.candidate, trial.candidate.change
        return {
            "id": trial.id,
            "edits": [[str(self.root / candidate.path), change.start, change.end, change.text]],
            "stages": [
                {"tests": [test.index for test in self.wanted], "stop": "unless-some"},
                {"tests": self._passing_near(candidate), "stop": "first"},
            ],
            "factor": factor,
            "ceiling": WIDEST,
        }

    def _passing_near(self, candidate: Candidate) -> list[int]:
        """Passing tests that run the statement, in their order."""
        statement = candidate.suspect.statement
        if statement not in self._near:
            passing = self.spectrum.standing("passed")
            self._near[statement] = [t.index for t in covering(passing, candidate.path, own_lines(statement))]
        return self._near[statement]

    async def _judge(self, reply: Message, factor: float) -> None:
        trial = self._open[reply["id"]]
        candidate = trial.candidate
        if reply["verdict"] == "module":
            request = self._request(trial, factor)
            await self.workers["cold"].send({**request, "start": COLD_START})
            return
        helped = frozenset(reply["passed"]) & {test.index for test in self.wanted}
        if reply["verdict"] == "passed" and helped and not trial.whole:
            trial.whole, trial.helped = True, helped
            if self._beats_the_best(trial):
                await self._check_whole(trial, factor)
                return
            reply = {**reply, "verdict": "not better"}
        del self._open[trial.id]
        self.tried += 1
        if reply["verdict"] == "passed":
            self._keep(Found(candidate=candidate, helped=trial.helped))
        elif reply["verdict"] == "timeout" and factor == 1.0 and not reply["stage"]:
            self._slow.append(candidate)

    def _beats_the_best(self, trial: Trial) -> bool:
        """The whole suite costs more than all else: it is run only for what would be chosen then."""
        best = min(map(self._preference, self._good), default=None)
        return best is None or self._preference(Found(candidate=trial.candidate, helped=trial.helped)) < best

    def _keep(self, found: Found) -> None:
        candidate = found.candidate
        self._good = sorted([*self._good, found], key=lambda each: each.candidate.rank)
        self.on_progress(f"{candidate.path}:{candidate.suspect.line}: {candidate.change.why}")

    async def _check_whole(self, trial: Trial, factor: float) -> None:
        """The whole suite, everything imported anew with the patch, in the original order."""
        tests = [t.index for t in self.spectrum.tests if t.standing == "passed" or t.index in trial.helped]
        request = self._request(trial, max(factor, WHOLE_FACTOR))
        request["stages"] = [{"tests": tests, "stop": "first"}]
        await self.workers["cold"].send({**request, "start": COLD_START})
