"""What fitting finds is what made the right changes right."""

from __future__ import annotations

import random

import pytest

from benchmarks.templates.fit import Program, fitted
from packages.offline.repair.templates.support.weights import TRAITS


@pytest.mark.slow
def test_fitting_finds_the_template_and_the_trait_that_win() -> None:
    dice = random.Random(1)
    programs = []
    for number in range(60):
        candidates = []
        for _ in range(30):
            known = [0.0] * len(TRAITS)
            known[4] = float(dice.randrange(4))
            candidates.append((dice.choice(["often", "seldom"]), 0.0, tuple(known)))
        # Mostly right is what the one template makes, and among these what has least of the trait.
        order = sorted(
            range(30), key=lambda i: (candidates[i][0] != "often", candidates[i][2][4], dice.random())
        )
        programs.append(Program(fold=number % 2, candidates=candidates, right=frozenset({order[0]})))
    found = fitted(programs)
    assert found.templates["often"] > found.templates["seldom"] + 1
    assert found.traits[4] < -1
    assert all(weight == 0.0 for place, weight in enumerate(found.traits) if place != 4)
