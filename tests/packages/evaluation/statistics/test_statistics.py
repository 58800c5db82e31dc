"""The statistics agree with scipy, with the papers' own code, and with a published table."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

import numpy
import pytest
from scipy import stats

from packages.evaluation.statistics.detectable import compute_detectable_difference
from packages.evaluation.statistics.intervals import compute_bootstrap_interval, compute_wilson_interval
from packages.evaluation.statistics.paired_tests import compute_mcnemar_p, compute_permutation_p
from packages.evaluation.statistics.pass_rates import (
    average_pass_at_k,
    average_pass_hat_k,
    compute_cost_of_pass,
    compute_pass_at_k,
    compute_pass_hat_k,
)

AIRLINE = "01100111000142021140430040220122003443413241222144"
"""Trials of four with reward 1, for each of the 50 tasks in historical_trajectories/gpt-4o-airline.json of
github.com/sierra-research/tau-bench at 59a200c6 (MIT licence): 200 trajectories."""

PUBLISHED = (0.420, 0.273, 0.220, 0.200)
"""Row "TC (gpt-4o)" of the airline table in that repository's README: pass^1 to pass^4."""


def estimate_pass_at_k(n: int, c: int, k: int) -> float:
    """The estimator as printed in Chen et al. 2021, figure 3."""
    if n - c < k:
        return 1.0
    return float(1.0 - numpy.prod(1.0 - k / numpy.arange(n - c + 1, n + 1)))


def test_pass_at_k_is_the_estimator_of_the_humaneval_paper() -> None:
    for n, k in ((1, 1), (5, 1), (10, 10), (100, 10), (200, 100)):
        for c in range(n + 1):
            assert compute_pass_at_k(n, c, k) == pytest.approx(estimate_pass_at_k(n, c, k), abs=1e-9)


def test_the_published_table_of_tau_bench_is_recomputed() -> None:
    tasks = [(4, int(each)) for each in AIRLINE]
    assert len(tasks) == 50
    assert sum(solved for _, solved in tasks) == 84
    rates = [average_pass_hat_k(tasks, k) for k in (1, 2, 3, 4)]
    assert [round(each or 0, 3) for each in rates] == list(PUBLISHED)
    assert average_pass_at_k(tasks, 1) == pytest.approx(0.42)


def test_both_rates_are_the_share_of_drawn_subsets() -> None:
    trials = [True, True, False, True, False]
    for k in (1, 2, 3):
        draws = list(combinations(trials, k))
        assert compute_pass_hat_k(5, 3, k) == pytest.approx(sum(map(all, draws)) / len(draws))
        assert compute_pass_at_k(5, 3, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_too_few_trials_give_no_estimate() -> None:
    with pytest.raises(ValueError, match="k = 3 from 1 of 2"):
        compute_pass_at_k(2, 1, 3)
    assert average_pass_hat_k([(2, 1), (1, 1)], 2) == 0.0
    assert average_pass_at_k([(1, 1)], 2) is None


def test_cost_of_pass_divides_all_cost_by_what_was_solved() -> None:
    assert compute_cost_of_pass([0.5, 0.25, 0.25], 2) == pytest.approx(0.5)
    assert compute_cost_of_pass([0.5], 0) is None


def test_wilson_intervals_agree_with_scipy() -> None:
    for trials in (1, 7, 40, 1000):
        for solved in {0, 1, trials // 3, trials}:
            for level in (0.9, 0.95):
                theirs = stats.binomtest(solved, trials).proportion_ci(level, method="wilson")
                assert compute_wilson_interval(trials, solved, level) == pytest.approx(
                    (theirs.low, theirs.high), abs=1e-12
                )


def test_bootstrap_intervals_agree_with_scipy_and_follow_the_seed() -> None:
    draw = random.Random(3)
    values = [draw.choice((0.0, 0.5, 1.0)) for _ in range(60)]
    ours = compute_bootstrap_interval(values, seed=1, resamples=10_000)
    theirs = stats.bootstrap(
        (values,), numpy.mean, method="percentile", n_resamples=10_000, rng=numpy.random.default_rng(1)
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.01)
    assert ours == compute_bootstrap_interval(values, seed=1, resamples=10_000)
    assert ours != compute_bootstrap_interval(values, seed=2, resamples=10_000)


def test_the_exact_mcnemar_test_is_scipys_binomial_test() -> None:
    for gained, lost in ((0, 0), (1, 0), (5, 0), (6, 0), (3, 9), (12, 12), (40, 22), (900, 1000)):
        theirs = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
        assert compute_mcnemar_p(gained, lost) == pytest.approx(theirs, abs=1e-12)
        assert compute_mcnemar_p(lost, gained) == compute_mcnemar_p(gained, lost)


def test_the_permutation_test_is_scipys() -> None:
    draw = random.Random(5)
    for _ in range(5):
        before = [draw.randint(0, 3) for _ in range(10)]
        after = [draw.randint(0, 3) for _ in range(10)]
        theirs = stats.permutation_test(
            (after, before),
            lambda x, y, axis: numpy.mean(x - y, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=numpy.inf,
        )
        ours = compute_permutation_p([Fraction(b - a, 3) for a, b in zip(before, after, strict=True)])
        assert ours == pytest.approx(theirs.pvalue, abs=1e-9)


def test_a_permutation_test_of_single_trials_is_the_mcnemar_test() -> None:
    differences = [Fraction(1)] * 9 + [Fraction(-1)] * 3 + [Fraction(0)] * 30
    assert compute_permutation_p(differences) == pytest.approx(compute_mcnemar_p(9, 3))


def test_a_distribution_that_is_too_large_is_drawn() -> None:
    draw = random.Random(1)
    differences = [Fraction(draw.randint(-1, 3), 97 + place % 7) for place in range(100)]
    assert compute_permutation_p(differences) < 0.001
    signs = [each if place % 2 else -each for place, each in enumerate(differences)]
    assert compute_permutation_p(signs, seed=1) > 0.05


def test_the_detectable_difference_is_found_with_the_promised_power() -> None:
    tasks, draw = 120, random.Random(2)
    difference = compute_detectable_difference(tasks, 1)
    found = 0
    for _ in range(400):
        first = [draw.random() < 0.5 - difference / 2 for _ in range(tasks)]
        second = [draw.random() < 0.5 + difference / 2 for _ in range(tasks)]
        pairs = list(zip(first, second, strict=True))
        found += compute_mcnemar_p(pairs.count((False, True)), pairs.count((True, False))) < 0.05
    assert 0.70 < found / 400 < 0.9


@pytest.mark.parametrize(
    ("tasks", "trials", "rate"), [(12, 1, 0.5), (20, 1, 0.8), (12, 3, 0.6), (25, 2, 0.3)]
)
def test_equals_are_told_apart_no_more_often_than_the_level_says(
    tasks: int, trials: int, rate: float
) -> None:
    """Two runs of the same thing: at 5 %, at most one comparison in twenty finds a difference, within three
    standard errors of so many draws."""
    draw = random.Random(11)
    draws = 400
    found = 0
    for _ in range(draws):
        hardness = [min(1.0, max(0.0, rate + draw.uniform(-0.3, 0.3))) for _ in range(tasks)]
        first, second = (
            [sum(draw.random() < each for _ in range(trials)) for each in hardness] for _ in "AA"
        )
        differences = [Fraction(two - one, trials) for one, two in zip(first, second, strict=True)]
        found += compute_permutation_p(differences) < 0.05
    assert found / draws <= 0.05 + 3 * (0.05 * 0.95 / draws) ** 0.5
    assert found or trials == 1  # single trials are few values: the exact test is below its level there


@pytest.mark.parametrize(("tasks", "trials"), [(8, 5), (20, 3), (40, 4)])
def test_the_power_holds_with_several_trials_of_each_task(tasks: int, trials: int) -> None:
    draw = random.Random(3)
    half = compute_detectable_difference(tasks, trials) / 2
    found = 0
    for _ in range(100):
        first, second = (
            [sum(draw.random() < rate for _ in range(trials)) for _ in range(tasks)]
            for rate in (0.5 - half, 0.5 + half)
        )
        differences = [Fraction(two - one, trials) for one, two in zip(first, second, strict=True)]
        found += compute_permutation_p(differences) < 0.05
    assert found >= 70


def test_trials_do_not_make_up_for_tasks() -> None:
    assert compute_detectable_difference(3, 10) == 1.0
    assert compute_permutation_p([Fraction(1)] * 3) == 0.25
    assert compute_detectable_difference(5, 1000) == 1.0


def test_a_small_suite_can_show_only_large_differences() -> None:
    assert compute_detectable_difference(3, 1) == 1.0
    assert compute_detectable_difference(12, 1) >= 0.5
    assert compute_detectable_difference(100, 4) == pytest.approx(0.099, abs=0.001)
