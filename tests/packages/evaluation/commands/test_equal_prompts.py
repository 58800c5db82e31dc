"""A prompt that makes a model worse is found worse; the same prompt drawn anew is not: A/A, over a real server."""

from __future__ import annotations

import json
import random
import re
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.model.protocol import Request, ToolMessage, UserMessage
from tests.support.cli import run
from tests.support.evaluation_trials import EDIT, make_task
from tests.support.loopback import Loopback

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TASKS = 8
GOOD, BAD = "Compute sums with care.", "Guess: never look twice."
RATES = {GOOD: 0.9, BAD: 0.05}
"""Share of the requests that are answered rightly, by the instructions in the system prompt."""

WRONG = {**EDIT, "arguments": {"path": "add.py", "old": "a - b", "new": "a * b"}}


class NoisyModel:
    """Answers rightly as often as its instructions let it; the draws follow the task and how often it was tried."""

    def __init__(self) -> None:
        self._tries: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Mapping[str, Any]:
        if any(isinstance(each, ToolMessage) for each in request.messages):
            return {"text": "Done."}
        # A local server gets the part of the system prompt that is about the folder as a message.
        told = "\n".join(
            [request.system, *(each.text for each in request.messages if isinstance(each, UserMessage))]
        )
        rate = next(rate for text, rate in RATES.items() if text in told)
        (task,) = re.findall(r"Fix add, number (\d)", told)
        with self._lock:
            self._tries[task] += 1
            draw = random.Random(f"{task} {self._tries[task]}")
        return {"calls": [EDIT if draw.random() < rate else WRONG]}


def test_a_worse_prompt_is_found_worse_and_an_equal_one_is_not(tmp_path: Path) -> None:
    for number in range(TASKS):
        folder = tmp_path / f"suite/task{number}"
        make_task(folder)
        (folder / "prompt.md").write_text(f"Fix add, number {number}.\n")
    (tmp_path / "base.md").write_text(GOOD)
    (tmp_path / "worse.md").write_text(BAD)
    home = {"PATCHWRIGHT_HOME": str(tmp_path / "home")}
    with Loopback(NoisyModel()) as server:
        measure = ("eval", "run", "suite", "-m", "noisy", "--api-base", server.url, "-j", "2")
        for label, more in (
            ("base", ("--instructions", "base.md")),
            ("again", ("--instructions", "base.md", "--seed", "1")),
            ("worse", ("--instructions", "worse.md")),
        ):
            done = run(*measure, *more, "--label", label, cwd=tmp_path, env=home)
            assert done.code == 0, done.err
            assert f"/{TASKS}" in done.out
    equal = run("eval", "compare", "base", "again", cwd=tmp_path, env=home)
    assert "again against base: no difference shown" in equal.out, equal
    told = json.loads(run("eval", "compare", "base", "worse", "--json", cwd=tmp_path, env=home).out)
    assert (told["verdict"], told["rates"]) == ("worse", [0.875, 0.0])
    assert told["p_value"] < 0.05
