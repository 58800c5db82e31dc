"""The patches that a search has found good, which of them is taken, and what else could still be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tools.repair.engine.candidates.candidate_generation import Candidate
from tools.repair.engine.candidates.ranking import PlausiblePatch

# A patch that helps only some of the failing tests is taken when this many more candidates, and as many
# again as it took to find it, brought none that helps them all.
PATIENCE = 400
# After the first patch that helps them all, so many more are looked at, while they are about as likely: of
# patches that pass the same tests, the smallest change is the right one more often than the first. When the
# first is of a kind that passes tests without being right, the search goes on much longer for a better one.
ALTERNATIVES, ALIKE = 40, 0.5
LONGER, LESS_ALIKE = 600, 0.05
# Where many statements are suspicious there are more ways to pass by chance: then as many candidates again are looked
# at as it took to find the first, and so many more; likelihoods lie further apart there.
AGAIN, MUCH_LESS_ALIKE = 400, 0.005
# The same when the first is of a kind that passes tests without being right: there the real change was the 8,446th.
AGAIN_IN_DOUBT, TIMES_IN_DOUBT = 6000, 3
# What takes a test session of its own is tried only so often to find something better than what is at hand.
MOST_COLD = 6


@dataclass(slots=True)
class PlausiblePatches:
    """What helps and breaks nothing, in whatever order it was met.

    wanted: number of the tests that should pass
    many: many statements are suspicious
    """

    wanted: int
    many: bool = False
    found: list[PlausiblePatch] = field(default_factory=list)

    def is_worth_trying(self, candidate: Candidate) -> bool:
        """Whether a candidate could still be chosen, given what is at hand."""
        return self._is_in_reach(candidate, self.found)

    def is_worth_waiting(self, candidate: Candidate) -> bool:
        """The same, when trying it takes seconds: a rival that is less likely is not worth them."""
        leader = self._find_leader(self.found)
        return leader is None or candidate.rank < leader.candidate.rank

    def is_worth_session(self, candidate: Candidate, tried: int) -> bool:
        """The same, when trying it takes a test session of its own and that was done `tried` times."""
        leader = self._find_leader(self.found)
        if leader is None:
            return self.is_worth_trying(candidate)
        return candidate.rank < leader.candidate.rank and tried < MOST_COLD

    @property
    def best(self) -> PlausiblePatch | None:
        """The one to take, None if there is none."""
        return next(iter(self.list_ranked()), None)

    def list_ranked(self) -> list[PlausiblePatch]:
        """The good ones, best first: those that would have been met one at a time, whoever was quicker."""
        known: list[PlausiblePatch] = []
        for each in sorted(self.found, key=lambda each: each.candidate.rank):
            if not self._is_in_reach(each.candidate, known):
                break
            known.append(each)
        return sorted(known, key=lambda each: each.preference)

    def _is_in_reach(self, candidate: Candidate, good: Sequence[PlausiblePatch]) -> bool:
        leader = self._find_leader(good)
        if leader is not None:
            return self._is_rival(leader, candidate)
        first = min((each.candidate.rank for each in good), default=None)
        return first is None or candidate.rank <= PATIENCE + 2 * first

    def _find_leader(self, good: Sequence[PlausiblePatch]) -> PlausiblePatch | None:
        """The likeliest that helps every wanted test; one of a kind to be trusted, if there is any."""
        full = [found for found in good if len(found.helped) == self.wanted]
        return min(full, key=lambda each: (each.is_doubtful, each.candidate.rank), default=None)

    def _is_rival(self, leader: PlausiblePatch, candidate: Candidate) -> bool:
        most, alike = (LONGER, LESS_ALIKE) if leader.is_doubtful else (ALTERNATIVES, ALIKE)
        first = leader.candidate
        if self.many:
            most, alike = max(most, first.rank + AGAIN), min(alike, MUCH_LESS_ALIKE)
            if leader.is_doubtful:
                most, alike = max(most, TIMES_IN_DOUBT * first.rank + AGAIN_IN_DOUBT), 0.0
        return candidate.rank <= first.rank + most and candidate.priority >= first.priority * alike
