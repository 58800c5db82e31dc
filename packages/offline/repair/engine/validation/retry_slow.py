"""Candidates that were only too slow: which are retried, and with how much more time."""

from __future__ import annotations

from dataclasses import field

from packages.offline.repair.engine.candidates.candidate_generation import Candidate
from packages.offline.repair.engine.validation.worker_client import Effort
from sandbox.lazy_dataclass import dataclass

PLENTY = 1 << 40
PATIENT = Effort(number=2, fuel=PLENTY, factor=50.0, ceiling=10.0)
# Candidates that get so much time immediately, and the tests that they must fix for it: one may pass by
# chance.
AT_ONCE, MENDED = 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A retry of the candidates that were too slow in all previous efforts.

    most: number of candidates to retry, in the order of their ranks
    promising: only those with which some failing test passed before another one took too long
    """

    most: int
    effort: Effort
    promising: bool = False


# Most slow candidates are endless, and each costs its whole limit every time. One that fixes some tests and
# is slow in another is seldom endless, so it gets much more time immediately; the others only when nothing
# else is left to try.
RETRIES = (
    Retry(most=24, effort=PATIENT, promising=True),
    Retry(most=120, effort=Effort(number=1, fuel=PLENTY, factor=1.0, ceiling=1.5)),
    Retry(most=24, effort=PATIENT, promising=True),
)
RETRIES_AT_LAST = (Retry(most=24, effort=PATIENT),)


@dataclass(slots=True)
class SlowCandidates:
    """Slow candidates by the number of the effort that was not enough."""

    _known: list[tuple[int, bool, Candidate]] = field(default_factory=list)
    _at_once: set[tuple[str, int, int, str]] = field(default_factory=set)

    def should_retry_now(self, candidate: Candidate, *, passed: int, failed: int) -> bool:
        """Return whether to retry it immediately: the first few that fix every test but one, which is slow."""
        change = candidate.change
        known = candidate.path, change.start, change.end, change.text
        if candidate.base is not None or passed < MENDED or failed != 1 or known in self._at_once:
            return False
        if len(self._at_once) == AT_ONCE:
            return False
        self._at_once.add(known)
        return True

    def add_candidate(self, candidate: Candidate, effort: Effort, *, helped: bool) -> None:
        """Add a candidate; helped: a failing test passed with it."""
        self._known.append((effort.number, helped, candidate))

    def take_retries(self, retry: Retry) -> list[Candidate]:
        """Remove and return those to retry, in the order of their ranks."""
        known = sorted(self._known, key=lambda each: each[2].rank)
        fit = [each for each in known if each[0] < retry.effort.number and (each[1] or not retry.promising)]
        chosen = fit[: retry.most]
        self._known = [each for each in known if each not in chosen]
        return [candidate for _, _, candidate in chosen]
