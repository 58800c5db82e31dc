"""Fitted weights of selection: what tells is found, noise is left out, and no task is judged by its own model."""

from __future__ import annotations

from random import Random

import pytest

from benchmarks.verification.fitting import (
    Case,
    compute_p_value,
    cross_validate,
    fit_curve,
    fit_model,
    split_cases,
)
from packages.search.select.levels import calibrate

FORMS = (("telling",), ("telling", "noise"))


def draw_cases(number: int, seed: int, *, strength: float = 3.0) -> list[Case]:
    """Tasks of five groups, one of which is right: one sign tells it by its strength, the other one is noise."""
    draw = Random(seed)
    cases = []
    for task in range(number):
        place = draw.randrange(5)
        signs = [
            {"telling": strength * (each == place) + draw.gauss(0, 1), "noise": draw.gauss(0, 1)}
            for each in range(5)
        ]
        cases.append(Case(name=f"t{task}", signs=signs, right=[float(each == place) for each in range(5)]))
    return cases


def test_a_sign_that_tells_gets_its_weight_and_noise_is_left_out() -> None:
    model = fit_model(draw_cases(150, 1), FORMS)
    assert list(model.weights) == ["telling"]
    assert model.weights["telling"] > 1.5


def test_signs_that_tell_nothing_gain_nothing_on_unseen_tasks() -> None:
    rates = [each.rate for each in cross_validate(draw_cases(200, 2, strength=0.0), FORMS)]
    assert 0.1 < sum(rates) / len(rates) < 0.32  # a fifth is right by chance


def test_a_confidence_is_the_share_of_right_choices() -> None:
    found = cross_validate(draw_cases(300, 3, strength=1.5), FORMS)
    sure = [each for each in found if each.confidence >= 0.6]
    assert len(sure) > 30
    assert sum(each.rate for each in sure) / len(sure) == pytest.approx(
        sum(each.confidence for each in sure) / len(sure), abs=0.1
    )


def test_cases_of_one_task_are_never_on_both_sides_of_a_fold() -> None:
    cases = draw_cases(20, 4) + draw_cases(20, 5)  # two pools of the same tasks
    judged = []
    for inside, outside in split_cases(cases, 5, 0):
        assert not {each.name for each in inside} & {each.name for each in outside}
        judged += [each.name for each in outside]
    assert sorted(judged) == sorted(each.name for each in cases)


def test_a_curve_lowers_shares_that_say_too_much() -> None:
    curve = fit_curve([(0.9, 1.0), (0.9, 0.0), (0.3, 0.0), (0.3, 0.0), (0.3, 1.0)] * 20)
    assert calibrate(0.9, curve) == pytest.approx(0.5, abs=0.05)


def test_a_difference_by_chance_is_told_from_one_that_is_none() -> None:
    assert compute_p_value([1.0] * 10 + [0.0] * 30) < 0.01
    assert compute_p_value([1.0, -1.0] * 10) > 0.9
