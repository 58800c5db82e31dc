"""The fast selector of the sampling world chooses as the selector does."""

from __future__ import annotations

from random import Random

from benchmarks.search.fast_selector import FastSelector
from packages.search.select.agreement import BehaviourTable, GeneratedTest, form_groups


def test_the_fast_selector_chooses_the_best_group() -> None:
    draw = Random(0)
    calls = [f"f({place})" for place in range(5)]
    rows = [[f"value:{draw.randrange(3)}" for _ in calls] for _ in range(4)]
    table = BehaviourTable(calls=calls, keys=[draw.choice(rows) for _ in range(12)])
    tests = [
        GeneratedTest(text=str(n), passed=[each[n] == "value:1" for each in table.keys]) for n in range(5)
    ]
    unread = {place: 0.5 * (place % 3 == 0) for place in range(12)}
    selector = FastSelector.build(table, tests, unread)
    sets = [draw.sample(range(12), draw.randint(1, 12)) for _ in range(30)]
    for members, group in zip(sets, selector.choose(sets), strict=True):
        scores = {
            int(selector.groups[each.members[0]]): each.score
            for each in form_groups(table, tests, members, unread)
        }
        assert abs(scores[group] - max(scores.values())) < 1e-6
