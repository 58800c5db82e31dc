"""Weights of selection, fitted and judged by nested cross-validation over tasks.

A task is a set of groups of candidates, each with signs and a share of right members. Weights are those of a
conditional logit: the probability that a group is the right one grows with exp(sum of weight * sign). Which signs
count, how strongly the weights are held back, and the curve from a group's share to its confidence are chosen inside
each outer fold, from tasks that are not in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from packages.search.select.levels import Curve, calibrate, compute_logit

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

RIDGES = (0.3, 1.0, 3.0)
"""Penalties of a squared weight; signs range over about one."""

STEPS = 12
"""Steps of the fit: more change no weight in the second digit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One task. signs: of each group, by name; right: share of right members of each group"""

    name: str
    signs: Sequence[Mapping[str, float]]
    right: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Fitted weights by sign. curve: slope and offset from the logit of a share to that of a confidence"""

    weights: Mapping[str, float]
    ridge: float
    curve: Curve = (1.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A task that the model was not fitted on.

    rate: probability that a draw among the best groups is right; confidence: what the model says of it
    """

    name: str
    rate: float
    confidence: float
    model: Model


def compute_shares(case: Case, weights: Mapping[str, float]) -> list[float]:
    """Return the probability of each group."""
    scores = [sum(weight * each[name] for name, weight in weights.items()) for each in case.signs]
    top = max(scores)
    values = [math.exp(each - top) for each in scores]
    return [each / sum(values) for each in values]


def choose(case: Case, weights: Mapping[str, float]) -> tuple[float, float]:
    """Return how likely a draw among the best groups is right, and the share of one of them."""
    shares = compute_shares(case, weights)
    best = [place for place, share in enumerate(shares) if share > max(shares) - 1e-9]
    return sum(case.right[place] for place in best) / len(best), shares[best[0]]


def cross_validate(
    cases: Sequence[Case], forms: Sequence[Sequence[str]], *, folds: int = 10, seed: int = 0
) -> list[Outcome]:
    """Return the outcome of each task, in their order, by a model that was made without it. forms: see `fit_model`"""
    found: dict[int, Outcome] = {}
    for inside, outside in split_cases(cases, folds, seed):
        model = fit_model(inside, forms, seed=seed + 1)
        for case in outside:
            rate, share = choose(case, model.weights)
            sure = calibrate(share, model.curve)
            found[id(case)] = Outcome(name=case.name, rate=rate, confidence=sure, model=model)
    return [found[id(each)] for each in cases]


def split_cases(cases: Sequence[Case], folds: int, seed: int) -> Iterator[tuple[list[Case], list[Case]]]:
    """Yield (other tasks, tasks) of each fold; cases of one name are in the same fold."""
    names = sorted({each.name for each in cases})
    Random(seed).shuffle(names)
    place = {name: number % folds for number, name in enumerate(names)}
    for fold in range(min(folds, len(names))):
        yield (
            [each for each in cases if place[each.name] != fold],
            [each for each in cases if place[each.name] == fold],
        )


def fit_model(cases: Sequence[Case], forms: Sequence[Sequence[str]], *, seed: int = 0) -> Model:
    """Choose signs and penalty by cross-validation, and fit weights and curve.

    forms: sets of signs to choose from, the simplest first; a later one is taken where it makes unseen tasks likelier
    by more than the standard error of the gain
    """
    best: list[float] = []
    names, ridge = forms[0], RIDGES[-1]
    for form in forms:
        scores, penalty = max(
            ((_score_signs(cases, form, each, seed), each) for each in RIDGES), key=lambda pair: sum(pair[0])
        )
        gains = [after - before for after, before in zip(scores, best, strict=True)] if best else []
        if not best or sum(gains) > _compute_error(gains):
            best, names, ridge = scores, form, penalty
    curve = _fit_curve(cases, names, ridge, seed)
    return Model(weights=fit_weights(cases, names, ridge), ridge=ridge, curve=curve)


def fit_weights(cases: Sequence[Case], names: Sequence[str], ridge: float) -> dict[str, float]:
    """Return the weights of the signs that make the right groups likely."""
    if not names:
        return {}
    return dict(zip(names, _fit(_build_table(cases, names), ridge), strict=True))


def fit_curve(pairs: Sequence[tuple[float, float]]) -> Curve:
    """Return slope and offset (Platt) for pairs of share and rate."""
    slope, offset = 1.0, 0.0
    for _ in range(50):
        gradient, matrix = [-0.5 * (slope - 1.0), 0.0], [[0.5, 0.0], [0.0, 1e-6]]
        for share, rate in pairs:
            sign = compute_logit(share)
            sure = calibrate(share, (slope, offset))
            for row, one in enumerate((sign, 1.0)):
                gradient[row] += (rate - sure) * one
                for column, other in enumerate((sign, 1.0)):
                    matrix[row][column] += sure * (1 - sure) * one * other
        (a, b), (c, d) = matrix
        moves = (d * gradient[0] - b * gradient[1], a * gradient[1] - c * gradient[0])
        slope, offset = (
            value + max(-0.5, min(0.5, move / (a * d - b * c)))  # a full step may lead too far
            for value, move in zip((slope, offset), moves, strict=True)
        )
    return slope, offset


def compute_p_value(differences: Sequence[float], seed: int = 0, draws: int = 10_000) -> float:
    """Return the two-sided probability of such a mean if signs of the differences were drawn (paired permutation)."""
    draw, total = Random(seed), abs(sum(differences))
    moved = [each for each in differences if each]
    hits = sum(
        abs(sum(each if draw.random() < 0.5 else -each for each in moved)) >= total - 1e-9
        for _ in range(draws)
    )
    return (hits + 1) / (draws + 1)


def _fit_curve(cases: Sequence[Case], names: Sequence[str], ridge: float, seed: int) -> Curve:
    """Return the curve for shares of tasks that the weights were not fitted on."""
    pairs = []
    for inside, outside in split_cases(cases, 5, seed):
        weights = fit_weights(inside, names, ridge)
        for case in outside:
            rate, share = choose(case, weights)
            pairs.append((share, rate))
    return fit_curve(pairs)


def _score_signs(cases: Sequence[Case], names: Sequence[str], ridge: float, seed: int) -> list[float]:
    """Return the log-likelihood of each mixed task under weights that were fitted without it."""
    scores: list[float] = []
    for inside, outside in split_cases(cases, 5, seed):
        weights = fit_weights(inside, names, ridge)
        for case in outside:
            if min(case.right) < max(case.right):
                shares = compute_shares(case, weights)
                likely = sum(share * right for share, right in zip(shares, case.right, strict=True))
                scores.append(math.log(likely))
    return scores


def _compute_error(values: Sequence[float]) -> float:
    """Return the standard error of a sum."""
    mean = sum(values) / len(values)
    return math.sqrt(sum((each - mean) ** 2 for each in values))


def _build_table(cases: Sequence[Case], names: Sequence[str]) -> tuple[Array, Array, Array]:
    """Return signs (tasks × groups × signs), right shares and which groups there are, of the mixed tasks."""
    import numpy as np

    mixed = [each for each in cases if min(each.right) < max(each.right)]
    width = max(len(each.right) for each in mixed)
    signs, right = np.zeros((len(mixed), width, len(names))), np.zeros((len(mixed), width))
    there = np.zeros((len(mixed), width), dtype=bool)
    for row, case in enumerate(mixed):
        number = len(case.right)
        signs[row, :number] = [[each[name] for name in names] for each in case.signs]
        right[row, :number] = case.right
        there[row, :number] = True
    return signs, right, there


def _fit(table: tuple[Array, Array, Array], ridge: float) -> list[float]:
    """Return the weights by Newton steps on the penalized likelihood, its right part held fixed in each."""
    import numpy as np

    signs, right, there = table
    weights = np.zeros(signs.shape[2])
    for _ in range(STEPS):
        scores = np.where(there, signs @ weights, -np.inf)
        shares = np.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        after = shares * right
        after /= after.sum(1, keepdims=True)
        means = np.einsum("tg,tgs->ts", shares, signs)
        gradient = (np.einsum("tg,tgs->ts", after, signs) - means).sum(0) - ridge * weights
        spread = np.einsum("tg,tgs,tgr->sr", shares, signs, signs) - means.T @ means
        weights = weights + np.linalg.solve(spread + ridge * np.eye(len(weights)), gradient)
    return [float(each) for each in weights]
