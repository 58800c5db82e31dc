"""Votes: the first answer that is ahead by k wins, and k is chosen so that no step of a long run is wrong."""

from __future__ import annotations

import random

import pytest

from benchmarks.microsteps import KINDS, play_run
from packages.search.microsteps.election import MOST_PER_K, Election
from packages.search.microsteps.estimate import (
    ACCEPTED_ERRORS,
    SampledStep,
    choose_sample,
    estimate_votes,
    fit_difficulty,
)


def test_the_first_answer_ahead_by_k_wins() -> None:
    election = Election(2)
    for vote, missing in (("a", 1), (None, 1), ("b", 2), ("b", 1), ("b", 0)):
        election.add_vote(vote)
        assert election.missing == missing
    assert election.winner == "b"
    assert (election.leader, election.lead, election.size) == ("b", 2, 5)
    assert election.describe() == "3 : 1, 1 malformed"


def test_an_election_without_agreement_is_given_up() -> None:
    election = Election(2)
    for number in range(MOST_PER_K * 2):
        assert not election.is_hopeless
        election.add_vote("ab"[number % 2])
    assert election.is_hopeless
    assert election.winner is None


@pytest.mark.parametrize("seed", range(3))
def test_the_lead_is_that_of_counting_anew(seed: int) -> None:
    draw, election = random.Random(seed), Election(50)
    counts: dict[str, int] = {}
    for _ in range(500):
        answer = draw.choice("abcde")
        election.add_vote(answer)
        counts[answer] = counts.get(answer, 0) + 1
        first, second = sorted([*counts.values(), 0], reverse=True)[:2]
        assert (election.lead, counts[election.leader]) == (first - second, first)


def test_voters_who_disagree_more_need_a_larger_k_and_more_votes() -> None:
    sure = [SampledStep((16,)) for _ in range(100)]
    unsure = [SampledStep((12, 4)) for _ in range(100)]
    one, other = (estimate_votes(sample, 10_000) for sample in (sure, unsure))
    assert one.k < other.k
    assert one.votes < other.votes
    assert max(one.expected_errors, other.expected_errors) <= ACCEPTED_ERRORS
    assert estimate_votes(sure, 10_000, k=3).k == 3


def test_the_estimate_knows_malformed_answers_and_how_many_rivals_there_are() -> None:
    sample = [SampledStep((10, 1, 1, 1), 3) for _ in range(40)]
    difficulty = fit_difficulty(sample)
    assert difficulty.malformed == pytest.approx(3 / 16)
    assert fit_difficulty([SampledStep((10, 4))] * 40).rivals == 1
    assert sum(difficulty.shares.values()) == pytest.approx(1)


def test_a_sample_has_small_and_large_files() -> None:
    sizes = [100 - each for each in range(100)]
    chosen = choose_sample(sizes)
    assert len(chosen) == 10
    assert {min(sizes), max(sizes)} <= {sizes[each] for each in chosen}
    assert choose_sample([5]) == [0]


@pytest.mark.parametrize("kind", [KINDS[1], KINDS[6]], ids=lambda kind: kind.name)
def test_a_simulated_run_is_right_at_the_estimated_number_of_votes(kind: object) -> None:
    run = play_run(kind, 2_000, random.Random(7))  # type: ignore[arg-type]
    assert (run.wrong, run.undecided) == (0, 0)
    assert abs(run.estimated / run.votes - 1) <= 0.15
