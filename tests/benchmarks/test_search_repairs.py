"""The simulated authors of search work on programs of the data set, which run in the sandbox."""

from __future__ import annotations

import asyncio
from random import Random

from agent.evaluation.suites.scratch_workspace import open_scratch
from benchmarks.search.repairs import SimulatedWork, _build_world, solve_by_tree

RIGHT = "class Solution:\n    def f(self, a, b):\n        x = a + 1\n        y = 0\n        return x + b * 2 + y\n"
RECORD = {
    "slug": "sums",
    "oracle_code": RIGHT,
    "buggy_code": RIGHT.replace("a + 1", "a - 1").replace("b * 2", "b + 2"),
    "examples": ["Input: a = 1, b = 2\nOutput: 6", "Input: a = 3, b = 5\nOutput: 14"],
    "description": "",
}


def test_a_tree_of_right_moves_mends_both_faults() -> None:
    async def solve() -> bool:
        with open_scratch() as at:
            world = _build_world(at, RECORD)
            assert world is not None
            assert len(world.hunks) == 2
            return await solve_by_tree(SimulatedWork(world, 2, 1.0, Random(0)))

    assert asyncio.run(solve())
