"""Changes that were only too slow: what is tried again, in which order, with how much more time."""

from __future__ import annotations

from packages.offline.repair.engine.candidates.candidate_generation import Candidate, generate_candidates
from packages.offline.repair.engine.validation.retry_slow import (
    AT_ONCE,
    MENDED,
    PATIENT,
    RETRIES,
    RETRIES_AT_LAST,
    SlowCandidates,
)
from packages.offline.repair.engine.validator import FIRST
from packages.offline.repair.localize.statement_ranking import rank_statements
from packages.offline.repair.templates import Hints
from tests.packages.offline.repair.engine.test_patch_search import FAILING, SOURCES, SPECTRUM


def some(number: int) -> list[Candidate]:
    found = generate_candidates(rank_statements(SOURCES, [FAILING], SPECTRUM), SOURCES, Hints())
    return [next(found) for _ in range(number)]


def test_what_mends_a_test_before_it_is_slow_comes_first_and_what_mends_none_comes_last() -> None:
    slow, (endless, late, early) = SlowCandidates(), some(3)
    slow.add_candidate(early, FIRST, helped=True)
    slow.add_candidate(late, FIRST, helped=True)
    slow.add_candidate(endless, FIRST, helped=False)
    assert slow.take_retries(RETRIES[0]) == [late, early]  # by rank
    assert slow.take_retries(RETRIES[1]) == [endless]
    slow.add_candidate(endless, RETRIES[1].effort, helped=False)
    assert slow.take_retries(RETRIES[2]) == []
    assert slow.take_retries(RETRIES_AT_LAST[0]) == [endless]


def test_what_had_all_the_time_there_is_does_not_come_again() -> None:
    slow, (candidate,) = SlowCandidates(), some(1)
    slow.add_candidate(candidate, PATIENT, helped=True)
    assert all(slow.take_retries(retry) == [] for retry in (*RETRIES, *RETRIES_AT_LAST))


def test_only_the_first_few_that_fail_one_test_by_its_time_are_tried_again_at_once() -> None:
    slow, every = SlowCandidates(), some(AT_ONCE + 3)
    assert not slow.should_retry_now(every[0], passed=MENDED - 1, failed=1)
    assert not slow.should_retry_now(every[0], passed=3, failed=2)
    given = [each for each in every for _ in range(2) if slow.should_retry_now(each, passed=3, failed=1)]
    assert given == every[:AT_ONCE]
