"""One budget for a turn with all its children: nothing is spent twice, and what is left comes back."""

from __future__ import annotations

import random

import pytest

from agent.budget.limits import MaxCost, MaxSteps, MaxTokens
from agent.budget.purse import Amount, Purse
from agent.events import UsageRecord


def spend(purse: Purse, cost: float = 0.0, tokens: int = 0) -> None:
    purse.add_step(UsageRecord(input=tokens, cost=cost), "openai/m")


def ask(purse: Purse, cost: float, tokens: int = 0) -> str:
    """Try to take a step of this estimate: the reason why not, else it is reserved."""
    purse.release()
    purse.tally.next_cost = cost
    reason = purse.find_stop_reason()
    if not reason:
        purse.hold(Amount(dollars=cost, tokens=tokens))
    return reason


def test_a_child_spends_its_parents_money() -> None:
    purse = Purse([MaxCost(1.0)])
    child = purse.open_child()
    assert ask(child, 0.6) == ""
    spend(child, 0.6)
    assert "--max-cost" in ask(child, 0.6)
    assert "--max-cost" in ask(purse, 0.6)
    assert purse.tally.usage.cost == pytest.approx(0.6)
    assert (purse.tally.steps, purse.tally.steps_below) == (0, 1)


def test_calls_under_way_count_so_that_children_cannot_spend_the_same_dollar() -> None:
    purse = Purse([MaxCost(1.0)])
    children = [purse.open_child() for _ in range(5)]
    asked = [ask(each, 0.3) for each in children]
    assert [bool(each) for each in asked] == [False, False, False, True, True]
    children[0].release()
    assert ask(children[3], 0.3) == ""


def test_a_share_is_kept_for_its_child_and_the_rest_of_it_returns() -> None:
    purse = Purse([MaxCost(1.0)])
    child, other = purse.open_child(share=Amount(dollars=0.7)), purse.open_child()
    assert ask(other, 0.4), "only 0.3 are not promised"
    assert ask(child, 0.5) == ""
    spend(child, 0.5)
    assert ask(child, 0.3), "the share holds for the child, too"
    assert ask(other, 0.4), "0.2 are still promised"
    child.close()
    assert ask(other, 0.4) == ""


def test_tokens_of_all_children_count_and_steps_only_of_their_own() -> None:
    purse = Purse([MaxSteps(2), MaxTokens(1_000)])
    one, two = purse.open_child([MaxSteps(3)]), purse.open_child([MaxSteps(1)])
    spend(one, tokens=50)
    spend(one, tokens=50)
    spend(two, tokens=100)
    assert "--max-steps" in ask(two, 0)
    assert ask(one, 0, tokens=500) == ""
    assert ask(purse, 0, tokens=300) == "", "700 of 1,000 are used or promised"
    spend(one, tokens=100)
    assert "3 steps taken (--max-steps)" in ask(one, 0)
    spend(purse)
    assert ask(purse, 0) == "", "five steps were taken, one of them by the parent"


def test_tokens_under_way_count_for_the_others() -> None:
    purse = Purse([MaxTokens(1_000)])
    one, two = purse.open_child(), purse.open_child()
    assert ask(one, 0, tokens=1_000) == ""
    assert "--max-tokens" in ask(two, 0)


def test_an_answer_of_unknown_cost_stops_everything_that_the_purse_pays_for() -> None:
    purse = Purse([MaxCost(1.0)])
    child, other = purse.open_child(), purse.open_child()
    child.add_step(UsageRecord(input=5), "openai/unknown")
    assert "openai/unknown" in ask(other, 0.1)
    assert "openai/unknown" in ask(purse, 0.1)


@pytest.mark.parametrize("seed", range(40))
def test_a_budget_is_exceeded_by_no_more_than_the_estimates_error(seed: int) -> None:
    """Any tree of purses, calls in any order that overlap, each dearer or cheaper than estimated by a tenth."""
    drawn = random.Random(seed)
    budget = drawn.uniform(0.5, 3.0)
    root = Purse([MaxCost(budget)])
    purses = [root]
    for _ in range(drawn.randrange(1, 12)):
        share = Amount(dollars=drawn.uniform(0.05, 0.4)) if drawn.random() < 0.4 else None
        purses.append(drawn.choice(purses).open_child(share=share))
    under_way: dict[Purse, float] = {}
    error, open_purses = 0.0, list(purses)
    for _ in range(300):
        purse = drawn.choice(open_purses)
        if purse in under_way:
            estimate = under_way.pop(purse)
            actual = estimate * drawn.uniform(0.9, 1.1)
            error += max(0.0, actual - estimate)
            spend(purse, actual)
        elif drawn.random() < 0.05 and purse is not root and not purse._children:
            purse.close()
            open_purses.remove(purse)
        elif not ask(purse, estimate := drawn.uniform(0.01, 0.2)):
            under_way[purse] = estimate
    for purse, estimate in under_way.items():
        spend(purse, estimate)
    assert (root.tally.usage.cost or 0.0) <= budget + error + 1e-9


def test_the_rest_is_divided_among_those_that_have_not_begun() -> None:
    purse = Purse([MaxCost(0.9), MaxTokens(9_000)])
    first, second = (purse.open_child(share=purse.divide_rest(parts)) for parts in (3, 2))
    spend(first, 0.1, 1_000)
    spend(second, 0.3, 3_000)
    assert ask(second, 0.01), "its share is used up"
    first.close()
    second.close()
    rest = purse.divide_rest(1)
    assert rest is not None
    assert (rest.dollars, rest.tokens) == (pytest.approx(0.5), 5_000)
    assert Purse([MaxSteps(3)]).divide_rest(2) is None
