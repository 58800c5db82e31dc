"""The pairs of tasks: what is asked for is missing before, and what is right is taken for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.memory_pairs.__main__ import judge, write_state
from benchmarks.memory_pairs.pairs import PAIRS
from benchmarks.memory_pairs.programs import Pair


def test_each_pair_has_its_own_name() -> None:
    assert len({each.name for each in PAIRS}) == len(PAIRS) == 20


@pytest.mark.parametrize("pair", PAIRS, ids=[each.name for each in PAIRS])
def test_a_task_is_done_only_by_a_right_change(pair: Pair, tmp_path: Path) -> None:
    for task in (pair.first, pair.second):
        write_state(tmp_path, pair, task)
        assert not judge(tmp_path, pair, task)
        if task.right:
            write_state(tmp_path, pair, replace(task, right=""))
            assert judge(tmp_path, pair, task)
