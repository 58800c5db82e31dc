"""Results of workers and nodes: of the trial that was ordered, with values that can be counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.events import UsageRecord
from packages.evaluation.executors.received_result import receive_result
from packages.evaluation.executors.result_line import decode_result_line
from packages.evaluation.runs.trial import describe_lost_trial
from packages.evaluation.runs.trial_spending import TrialSpending
from tests.support.evaluation_trials import make_order, make_task


def test_a_result_is_that_of_its_order_and_can_be_counted(tmp_path: Path) -> None:
    order = make_order(make_task(tmp_path / "suite/add"), "offline", tmp_path)
    spent = TrialSpending(agent=UsageRecord(input=1, output=2, cost=0.5))
    good = describe_lost_trial(order, "wrong", "no", spent, 3.0)
    sent: dict[str, Any] = json.loads(json.dumps(good.encode()))
    assert receive_result(order, sent) == good
    elsewhere = {"key": "../../../../x", "task": "other", "digest": "other", "variant": "other", "trial": 7}
    assert receive_result(order, {**sent, **elsewhere}) == good
    assert decode_result_line(order, {"result": {**sent, **elsewhere}}) == good
    wrongs: tuple[dict[str, Any], ...] = (
        {"cost": "x"},
        {"cost": float("nan")},
        {"cost": -1.0},
        {"user_cost": float("inf")},
        {"seconds": None},
        {"score": 2.0},
        {"solved": 1},
        {"steps": 1.5},
        {"tokens_in": True},
        {"tokens_out": 1 << 60},
        {"detail": ["no"]},
        {"failure": ["wrong"]},
        {"trial": "0"},
        {"tags": 7},
        {"tags": [7]},
        {"session": "../../config"},
        {"patch": "x" * ((32 << 20) + 1)},
    )
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"result|type|iterable"):
            receive_result(order, {**sent, **wrong})
    nothings: tuple[object, ...] = (None, [], {"key": order.key})
    for nothing in nothings:
        with pytest.raises(ValueError, match=r"object|argument"):
            receive_result(order, nothing)
