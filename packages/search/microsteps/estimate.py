"""How far ahead an answer has to be, and what that costs, estimated from votes on a sample of the steps.

A step whose voters are right with probability p elects a wrong answer with probability 1 / (1 + (p / (1 - p))^k) at
most (the gambler's ruin). Steps differ: the sample gives a distribution of p (maximum likelihood, by expectation
maximization on a grid), and the hardest steps decide on k.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from packages.search.microsteps.election import Election
from sandbox.lazy_dataclass import dataclass

ACCEPTED_ERRORS = 0.02
"""Wrong steps expected in a whole run. So 98 of 100 runs have none; 95 are promised, the rest is for the estimate."""

SMALLEST_K, LARGEST_K = 2, 50
"""k below 2 is no vote; k of 50 decides between voters who are right with 0.55."""

UNSEEN, UNSEEN_SHARE = 0.5, 0.7
"""Half a step of the sample is assumed to be hard, its voters right with 0.7: steps that a sample of n does not show
may still be one in n."""

GRID = (*(round(0.66 + 0.02 * number, 2) for number in range(17)), 0.985, 0.99, 0.995, 0.999)
"""Shares of right answers that a step may have. Votes do not decide where the right answer is not by far the most
frequent one: such steps are left to the check, and a sample of few votes cannot tell them from others."""

ROUNDS = 300
"""Rounds of expectation maximization: more change the estimate by less than the sample's error."""

SIMULATED = 1_500
"""Elections that are played for the estimate of their length: its error is then some 2 %."""


@dataclass(frozen=True, slots=True)
class SampledStep:
    """Votes on one step of the sample. counts: of each answer; malformed: votes without one"""

    counts: tuple[int, ...]
    malformed: int = 0

    @classmethod
    def from_election(cls, election: Election) -> SampledStep:
        return cls(tuple(sorted(election.counts.values(), reverse=True)), election.malformed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difficulty:
    """How hard the steps are.

    shares: weight of the steps whose voters are right with that probability, by probability
    rivals: how many wrong answers share the other votes, on average; malformed: share of all votes
    """

    shares: Mapping[float, float]
    rivals: int
    malformed: float

    def compute_error(self, k: int) -> float:
        """Return the probability that a step elects a wrong answer, its voters' errors all being the same."""
        return sum(weight / (1 + (p / (1 - p)) ** k) for p, weight in self.shares.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What the votes on all steps come to. votes: malformed ones included, and those of the sample"""

    steps: int
    k: int
    votes: float
    difficulty: Difficulty

    @property
    def expected_errors(self) -> float:
        """Steps that elect a wrong answer, before any check."""
        return self.steps * self.difficulty.compute_error(self.k)


def choose_sample(steps: Sequence[int]) -> list[int]:
    """Return the positions of the steps to sample, spread evenly over their sizes.

    steps: their sizes
    """
    wanted = min(len(steps), max(3, min(120, len(steps) // 10)))
    by_size = sorted(range(len(steps)), key=lambda position: (steps[position], position))
    places = [round(number * (len(steps) - 1) / max(wanted - 1, 1)) for number in range(wanted)]
    return [by_size[place] for place in dict.fromkeys(places)]


def choose_sample_votes(steps: int) -> int:
    """Return the votes on each sampled step: the more steps there are, the more an exact estimate is worth."""
    if steps >= 2_000:
        return 16
    return 8 if steps >= 200 else 4


def estimate_votes(sample: Sequence[SampledStep], steps: int, k: int | None = None) -> Estimate:
    """Return the smallest k with which all steps are right, and the votes that they need. k: given by the user"""
    difficulty = fit_difficulty(sample)
    chosen = k or next(
        (
            each
            for each in range(SMALLEST_K, LARGEST_K)
            if steps * difficulty.compute_error(each) <= ACCEPTED_ERRORS
        ),
        LARGEST_K,
    )
    return Estimate(
        steps=steps, k=chosen, votes=steps * _simulate_length(difficulty, chosen), difficulty=difficulty
    )


def fit_difficulty(sample: Sequence[SampledStep]) -> Difficulty:
    """Estimate how hard the steps are. The right answer is taken to be the most frequent one of a step's voters."""
    weights = dict.fromkeys(GRID, 1 / len(GRID))
    kinds = Counter(each.counts for each in sample if each.counts)
    likelihoods = {counts: {p: _compute_likelihood(counts, p) for p in GRID} for counts in kinds}
    for _ in range(ROUNDS if kinds else 0):
        fresh = dict.fromkeys(GRID, 0.0)
        for counts, number in kinds.items():
            shares = {p: weights[p] * likelihoods[counts][p] for p in GRID}
            whole = sum(shares.values())
            for p, share in shares.items():
                fresh[p] += number * share / whole
        weights = {p: share / sum(kinds.values()) for p, share in fresh.items()}
    voted = sum(kinds.values())
    shares = {p: weight * voted / (voted + UNSEEN) for p, weight in weights.items() if weight > 1e-6}
    hardest = UNSEEN_SHARE
    shares[hardest] = shares.get(hardest, 0.0) + UNSEEN / (voted + UNSEEN)
    votes = sum(sum(each.counts) + each.malformed for each in sample)
    malformed = sum(each.malformed for each in sample) / votes if votes else 0.0
    return Difficulty(shares=shares, rivals=_count_rivals(sample), malformed=malformed)


def _compute_likelihood(counts: Sequence[int], p: float) -> float:
    """Return the likelihood of a step's votes, whichever of its two most frequent answers is the right one."""
    total = sum(counts)
    return sum(p**right * (1 - p) ** (total - right) for right in (*counts[:2], 0)[:2])


def _count_rivals(sample: Sequence[SampledStep]) -> int:
    """Estimate how many wrong answers there are to a step, by how often two wrong votes agree."""
    same = pairs = 0
    for each in sample:
        wrong = each.counts[1:]
        pairs += sum(wrong) * (sum(wrong) - 1)
        same += sum(count * (count - 1) for count in wrong)
    return max(round(pairs / same), 1) if same else 1


def _simulate_length(difficulty: Difficulty, k: int) -> float:
    """Return the mean number of votes of a step, by playing elections."""
    draw = random.Random(k)
    whole = 0.0
    # Each share is played in proportion to the votes that it takes.
    costs = {p: weight / max(2 * p - 1, 0.04) for p, weight in difficulty.shares.items()}
    for p, weight in difficulty.shares.items():
        rounds = max(round(SIMULATED * costs[p] / sum(costs.values())), 20)
        whole += weight * sum(_play(draw, p, difficulty, k) for _ in range(rounds)) / rounds
    return whole


def _play(draw: random.Random, p: float, difficulty: Difficulty, k: int) -> int:
    election = Election(k)
    while election.winner is None and not election.is_hopeless:
        if draw.random() < difficulty.malformed:
            election.add_vote(None)
        elif draw.random() < p:
            election.add_vote("right")
        else:
            election.add_vote(f"wrong {draw.randrange(difficulty.rivals)}")
    return election.size
