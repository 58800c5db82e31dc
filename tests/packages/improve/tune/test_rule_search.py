"""The search for rules finds a known best guideline, in far fewer evaluations than drawing sets of rules needs."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from packages.improve.tune.rule_search import RuleSearch, Trial

RULES = tuple(f"rule {number}" for number in range(12))
WORTH = {"rule 1": 0.2, "rule 4": 0.25, "rule 7": 0.15, "rule 9": 0.1}
"""What each rule of the best guideline adds; the others cost a little, and rule 7 helps only beside rule 9."""

BEST = set(WORTH)


def score(rules: Sequence[str]) -> float:
    """Return the share of tasks that are solved in the scripted world."""
    helpful = {each for each in rules if each in WORTH}
    if "rule 9" not in helpful:
        helpful.discard("rule 7")
    return 0.2 + sum(WORTH[each] for each in helpful) - 0.02 * len(set(rules) - BEST)


def search(start: Sequence[str] = (), most: int = 500) -> tuple[Trial, RuleSearch]:
    async def evaluate(rules: tuple[str, ...]) -> float:
        return score(rules)

    made = RuleSearch(rules=RULES, evaluate=evaluate, most=most)
    return asyncio.run(made.run(start)), made


def count_random_draws(seed: int) -> int:
    """Return how many sets of rules are drawn until the best one is."""
    draw = random.Random(seed)
    count = 1
    while {each for each in RULES if draw.random() < 0.5} != BEST:
        count += 1
    return count


def test_the_best_guideline_is_found_in_a_tenth_of_the_evaluations_of_random_search() -> None:
    best, made = search()
    assert set(best.rules) == BEST
    drawn = sorted(count_random_draws(seed) for seed in range(21))[10]
    assert len(made.tried) <= 0.1 * drawn, (len(made.tried), drawn)


def test_rules_that_harm_leave_a_guideline() -> None:
    best, _ = search(start=["rule 2", "rule 4", "rule 11"])
    assert set(best.rules) == BEST


def test_of_equal_guidelines_the_shorter_one_is_kept() -> None:
    async def evaluate(rules: tuple[str, ...]) -> float:
        return 0.5

    best = asyncio.run(RuleSearch(rules=RULES, evaluate=evaluate).run(["rule 1", "rule 2"]))
    assert best.rules == ()


def test_no_set_is_evaluated_twice_and_the_limit_holds() -> None:
    _, made = search()
    assert len({frozenset(each.rules) for each in made.tried}) == len(made.tried)
    assert len(search(most=5)[1].tried) == 5
