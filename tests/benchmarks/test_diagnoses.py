"""Runs of SWE-agent as trajectories: what is read of them, and the diagnosis of each kind that was judged."""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.diagnoses import build_trajectory, diagnose_run, read_judgements, read_runs

OPEN = "\n(Open file: /shop/cart.py)\n(Current directory: /shop)\nbash-$"

LOOKED = ("open cart.py", f"[File: /shop/cart.py]{OPEN}")

Action = tuple[str, str]
"""A command and what came of it; "" for a run that ended before."""


def write_history(actions: Sequence[Action]) -> list[dict[str, Any]]:
    history: list[dict[str, Any]] = [{"role": "system", "content": "rules"}]
    history.append({"role": "user", "content": "ISSUE: the total is wrong"})
    for action, output in actions:
        history.append({"role": "assistant", "content": "x", "thought": "Next.", "action": action})
        history += [{"role": "user", "content": output}] if output else []
    return history


SYNTAX = "/bin/bash: line 1: syntax error near unexpected token"

WRONG_FILE = [
    ("create try.py", "[File: /shop/try.py]\n(Open file: /shop/try.py)"),
    ("edit 1:1\nx\nend_of_edit", "ok"),
    LOOKED,
    ("edit 2:2\ny\nend_of_edit", f"File updated.{OPEN}"),
    ("submit", ""),
]


@pytest.mark.parametrize(
    ("actions", "step", "kind"),
    [
        ([LOOKED, ("submit", "")], 2, "Goal Deviation"),
        ([LOOKED, ("edit 3", f"Usage: edit FIRST:LAST{OPEN}"), ("edit 3:4", "")], 2, "Formatting Errors"),
        ([LOOKED, ("import cart\nrun(", SYNTAX), ("edit 1:1", "")], 2, "Formatting Errors"),
        (
            [LOOKED, ("echo I cannot.", "I cannot."), ("echo Bye.", "Bye."), ("exit_cost", "")],
            2,
            "Goal Deviation",
        ),
        (WRONG_FILE, 4, "Incorrect Problem Identification"),
    ],
)
def test_the_kinds_of_errors_that_were_judged_are_found(
    tmp_path: Path, actions: list[Action], step: int, kind: str
) -> None:
    found = diagnose_run("shop-1", write_history(actions), tmp_path)
    assert found is not None
    assert (found.step, found.kind) == (step, kind)


def test_an_edit_has_the_path_of_the_open_file_and_a_submission_is_the_answer() -> None:
    told = build_trajectory(
        "shop-1", write_history([LOOKED, ("edit 1:2\na = 2\nend_of_edit", "File updated."), ("submit", "")])
    )
    _, _, edit, answer = told["steps"]
    (call,) = edit["tool_calls"]
    assert call["function_name"] == "edit"
    assert call["arguments"] == {"path": "/shop/cart.py", "range": "1:2", "text": "a = 2\nend_of_edit"}
    assert answer == {"source": "agent", "message": "Next."}


def test_runs_are_read_by_task_and_ten_are_judged(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl.xz"
    path.write_bytes(lzma.compress(json.dumps({"id": "shop-1@cost", "history": []}).encode()))
    assert list(read_runs(path)) == [("shop-1", [])]
    judged = read_judgements()
    assert len(judged) == 10
    assert all(step > 0 and why for step, why in judged.values())
