"""The simulated authors of search work on programs of the data set, which run in the sandbox."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from benchmarks.search.auto_repairs import measure_task
from benchmarks.search.joined_programs import JoinedPrograms
from benchmarks.search.program_states import ONE, World, build_world
from benchmarks.search.repairs import SimulatedWork, solve_by_evolution, solve_by_sampling, solve_by_tree
from packages.evaluation.suites.scratch_workspace import open_scratch

RIGHT = "class Solution:\n    def f(self, a, b):\n        x = a + 1\n        y = 0\n        return x + b * 2 + y\n"
RECORD = {
    "slug": "sums",
    "oracle_code": RIGHT,
    "buggy_code": RIGHT.replace("a + 1", "a - 1").replace("b * 2", "b + 2"),
    "examples": ["Input: a = 1, b = 2\nOutput: 6", "Input: a = 3, b = 5\nOutput: 14"],
    "description": "",
}


def test_searches_of_right_moves_mend_both_faults_and_states_are_kept(tmp_path: Path) -> None:
    async def solve() -> list[dict[str, Any]]:
        with open_scratch() as at:
            world = await build_world(at, RECORD, tmp_path)
            assert world is not None
            assert len(world.hunks) == 2
            for strategy in (solve_by_tree, solve_by_evolution, solve_by_sampling):
                work = SimulatedWork(limit=2, world=world, skill=1.0, seed="0")
                await work.begin()
                await strategy(work)
                (found,) = work.candidates
                assert await world.is_right(work.states[found.attempt])
            both = frozenset({("right", 0), ("right", 1)})
            said = [await world.build_report(frozenset()), await world.build_report(both)]
            await world.runner.close()
            again = await build_world(at, RECORD, tmp_path)
            assert again is not None
            assert again.runner._pipes is None, "nothing runs again"
            assert [await again.build_report(frozenset()), await again.build_report(both)] == said
            return said

    broken, mended = asyncio.run(solve())
    assert broken["outcome"] == "failed"
    assert (mended["outcome"], mended["failures"]) == ("passed", [])


def test_programs_are_mended_together_and_auto_sees_tests_of_two_files(tmp_path: Path) -> None:
    broken = [RIGHT.replace("a + 1", "a - 1"), RIGHT.replace("b * 2", "b + 2")]

    async def solve() -> None:
        with open_scratch() as at:
            worlds = [
                await build_world(at, {**RECORD, "slug": slug, "buggy_code": code}, tmp_path, ONE)
                for slug, code in zip(("sums", "others"), broken, strict=True)
            ]
            parts = [each for each in worlds if each is not None]
            world = JoinedPrograms(parts)
            assert [len(world.hunks), len(world.wrong)] == [2, sum(len(each.wrong) for each in parts)]
            alone = world.add_move(frozenset(), ("right", 1))
            report = await world.build_report(alone)
            assert {each["file"] for each in report["failures"]} == {"0/test_solution.py"}
            assert not await world.passes(alone)
            last = ("wrong", len(world.wrong) - 1)
            assert world.add_move(alone, last) in (alone | {last}, {last}), "of the second program"
            row = await measure_task(world, "", 2, 1.0, 2)
            for each in parts:
                await each.runner.close()
            assert row.chosen == "evolve"
            assert {name: row.measure_right(name) for name in row.turns} == dict.fromkeys(row.turns, 1.0)

    asyncio.run(solve())


def test_a_change_replaces_those_of_the_same_lines() -> None:
    world = World(
        name="",
        problem="0",
        runner=None,  # type: ignore[arg-type]  # nothing runs
        faulty=["a\n", "b\n", "c\n"],
        hunks=[(0, 1, ("A\n",)), (2, 3, ("C\n",))],
        wrong=[(0, 2, ("x\n",)), (3, 3, ("d\n",))],
        expected=(),
    )
    state = world.add_move(frozenset({("right", 0), ("right", 1)}), ("wrong", 0))
    assert state == {("right", 1), ("wrong", 0)}
    assert world.build_text(world.add_move(state, ("wrong", 1))) == "x\nC\nd\n"
