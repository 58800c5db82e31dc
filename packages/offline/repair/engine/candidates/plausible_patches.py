"""The plausible patches of a search: which one is chosen, and which candidates could still replace it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from packages.offline.repair.engine.candidates.candidate_generation import Candidate
from packages.offline.repair.engine.candidates.ranking import PlausiblePatch
from packages.offline.repair.templates import OPERATORS
from sandbox.lazy_dataclass import dataclass

# A patch that fixes only some of the failing tests is accepted after this many more candidates, plus as many
# again as it took to find it, without one that fixes them all.
PATIENCE = 400
# After the first patch that fixes them all, this many more are tried, while they are about as likely: of
# patches that pass the same tests, the smallest change is the right one more often than the first. If the
# first is of a kind that passes tests without being right, the search continues much longer for a better one.
ALTERNATIVES, ALIKE = 40, 0.5
LONGER, LESS_ALIKE = 600, 0.05
# With many suspicious statements more changes pass by chance: then as many candidates again are tried as it
# took to find the first, plus this many; likelihoods differ more there.
AGAIN, MUCH_LESS_ALIKE = 400, 0.005
# The same if the first is of a kind that passes tests without being right: there the real change was the
# 8,446th.
AGAIN_IN_DOUBT, TIMES_IN_DOUBT = 6000, 3
# Candidates that need a test session of their own are tried only this often for a better patch than the best
# one.
MOST_COLD = 6

_OPERATORS = frozenset(each.name for each in OPERATORS)


@dataclass(slots=True)
class PlausiblePatches:
    """Patches that fix a test and break none, in any order of arrival.

    wanted: number of the tests that should pass
    many: many statements are suspicious
    """

    wanted: int
    many: bool = False
    found: list[PlausiblePatch] = field(default_factory=list)

    def is_worth_trying(self, candidate: Candidate) -> bool:
        """Return whether a candidate could still be chosen, given the patches found."""
        return self._is_in_reach(candidate, self.found)

    def is_worth_waiting(self, candidate: Candidate) -> bool:
        """Return the same for a trial that takes seconds, which a less likely rival is not worth."""
        leader = self._find_leader(self.found)
        return leader is None or candidate.rank < leader.candidate.rank

    def is_worth_session(self, candidate: Candidate, tried: int) -> bool:
        """Return the same for a trial that takes a test session of its own, after `tried` of them."""
        leader = self._find_leader(self.found)
        if leader is None:
            return self.is_worth_trying(candidate)
        return candidate.rank < leader.candidate.rank and tried < MOST_COLD

    @property
    def best(self) -> PlausiblePatch | None:
        """Return the patch to choose, None if there is none."""
        return next(iter(self.list_ranked()), None)

    def list_ranked(self) -> list[PlausiblePatch]:
        """Return the good patches, best first; independent of the speed of the workers."""
        known: list[PlausiblePatch] = []
        is_out = False
        for each in sorted(self.found, key=lambda each: each.candidate.rank):
            is_out |= not self._is_in_reach(each.candidate, known)
            leader = self._find_leader(known)
            if not is_out or (
                leader is not None and self._is_other_operator(each.candidate, leader.candidate)
            ):
                known.append(each)
        return sorted(known, key=lambda each: each.preference)

    def _is_in_reach(self, candidate: Candidate, good: Sequence[PlausiblePatch]) -> bool:
        leader = self._find_leader(good)
        if leader is not None:
            return self._is_rival(leader, candidate)
        first = min((each.candidate.rank for each in good), default=None)
        return first is None or candidate.rank <= PATIENCE + 2 * first

    def _find_leader(self, good: Sequence[PlausiblePatch]) -> PlausiblePatch | None:
        """Return the likeliest patch that fixes every wanted test; a trusted kind if there is one."""
        full = [found for found in good if len(found.helped) == self.wanted]
        return min(full, key=lambda each: (each.is_doubtful, each.candidate.rank), default=None)

    def _is_rival(self, leader: PlausiblePatch, candidate: Candidate) -> bool:
        if self._is_other_operator(candidate, leader.candidate):
            return True
        most, alike = (LONGER, LESS_ALIKE) if leader.is_doubtful else (ALTERNATIVES, ALIKE)
        first = leader.candidate
        if self.many:
            most, alike = max(most, first.rank + AGAIN), min(alike, MUCH_LESS_ALIKE)
            if leader.is_doubtful:
                most, alike = max(most, TIMES_IN_DOUBT * first.rank + AGAIN_IN_DOUBT), 0.0
        return candidate.rank <= first.rank + most and candidate.priority >= first.priority * alike

    def _is_other_operator(self, candidate: Candidate, leader: Candidate) -> bool:
        """Return whether a candidate changes one operator of the statement that a patch changes, however unlikely.

        In small programs, the smallest of the likely changes is right more often.
        """
        is_single = candidate.base is None and leader.base is None
        is_near = is_single and candidate.suspect.statement is leader.suspect.statement
        return self.many and is_near and candidate.template in _OPERATORS
