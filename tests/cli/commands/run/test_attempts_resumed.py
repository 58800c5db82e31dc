"""A turn of several attempts that kill -9 cut off: those that ended are kept, the others are made again."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.session.log import read_events
from tests.support.cli import PATCHWRIGHT, call, environment, run
from tests.support.loopback import Loopback
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

EDIT = {"calls": [call("edit", path="cart.py", old="-sum", new="sum")]}
LONG = {"calls": [call("edit", path="cart.py", old="    return -sum", new="\n    return sum")]}
LONGER = {"calls": [call("edit", path="cart.py", old="    return -sum", new="\n\n    return sum")]}
ANSWER = {"text": "Let total add up."}


def test_attempts_that_had_ended_before_a_kill_are_not_made_again(tmp_path: Path) -> None:
    shop = Repo(tmp_path / "shop")
    shop.write("cart.py", "def total(prices):\n    return -sum(prices)\n")
    shop.write("test_cart.py", "from cart import total\n\n\ndef test_total():\n    assert total([1]) == 1\n")
    shop.commit_all()
    before = [LONGER, ANSWER, LONG, ANSWER, {**ANSWER, "delay": 300}]
    with Loopback([*before, EDIT, ANSWER]) as server:
        model = ("--model", "openai/mine", "--api-base", server.url)
        quiet = subprocess.DEVNULL
        with subprocess.Popen(
            [*PATCHWRIGHT, "run", "mend the cart", "--attempts", "3", *model],
            cwd=shop.root,
            env=environment(),
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),  # one after the other
        ) as process:
            deadline = time.monotonic() + 200
            while len(server.requests) < len(before):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.02)
            process.kill()
        assert shop.git("status", "--porcelain") == ""
        done = run("resume", "--output", "json", "--api-base", server.url, cwd=shop.root)
        assert done.code == 0, done.err
        asked = len(server.requests) - len(before)
    assert asked == 2, "only the third attempt is made again"
    end = json.loads(done.out)
    assert (end["outcome"], end["summary"]) == ("done", "Let total add up.")
    assert shop.read("cart.py") == "def total(prices):\n    return sum(prices)\n", "the smallest that passes"
    assert shop.committed() == ["cart.py"]
    assert shop.git("worktree", "list").count("\n") == 1
    home = Home.from_environment(environment())
    assert list((home.cache / "worktrees").iterdir()) == []
    assert len(list((home.data / "projects").iterdir())) == 1, "no data of worktrees that are gone"
    sessions = home.get_project_folder(shop.root) / "sessions"
    log = list(read_events(sessions / end["session"]))
    assert [each.number for each in log if each.kind == "attempt"] == [1, 2, 3, 3]  # type: ignore[attr-defined]
    assert [each.attempt for each in log if each.kind == "candidate"] == [1, 2, 3]  # type: ignore[attr-defined]
    (choice,) = [each for each in log if each.kind == "choice"]
    assert (choice.attempt, choice.order) == (3, [3, 2, 1])  # type: ignore[attr-defined]
    for folder in sessions.iterdir():
        kinds = [each.kind for each in read_events(folder)]
        assert kinds[0] == "session", "each log is whole"
