"""`run --until`: the page's example, a kill in the middle, and what cannot be combined."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from agent.session.log import read_events
from tests.support.cli import CHECKOUT, PATCHWRIGHT, call, environment, run, script
from tests.support.confined import needs_confinement
from tests.support.invariants import list_unanswered_calls
from tests.support.repo import Repo
from tests.support.talking import logs, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

PAGE = (CHECKOUT / "docs/goals.md").read_text("utf-8")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """The project of the page."""
    repo = Repo(tmp_path / "shop")
    for name, text in re.findall(r"^```python\n# (\S+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        repo.write(name, text)
    repo.commit_all()
    return repo


def test_the_example_of_the_page_runs_without_a_model(repo: Repo) -> None:
    needs_confinement(repo.root)
    [line] = re.findall(r"^```sh\n(.*?)\n```", PAGE, re.DOTALL | re.MULTILINE)
    [shown] = re.findall(r"^```\n(● .*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    done = run(*shlex.split(line)[1:], cwd=repo.root)
    assert done.code == 0, done.err
    told = [each for each in done.err.splitlines() if "goal" in each and each[0] in "●✔"]
    assert told == shown.splitlines()
    assert "sum(items)\n" in repo.show("cart.py")


def test_a_killed_goal_is_resumed_to_its_end(repo: Repo) -> None:
    turns = [
        {"calls": [call("edit", path="cart.py", old=" - 1", new=" - 2")]},
        {"text": "So."},
        {"calls": [call("shell", command="touch waiting; sleep 60")]},
    ]
    options = ["--until", "grep -q 'sum(items)$' cart.py", "--tests", "true", "--sandbox", "unconfined"]
    words = ["run", "mend it", *options, "--mode", "full", "--model", script(repo.root.parent, turns)]
    process = subprocess.Popen(
        [*PATCHWRIGHT, *words],
        cwd=repo.root,
        env=environment(),
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_until(lambda: (repo.root / "waiting").exists())
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    more = [{"calls": [call("edit", path="cart.py", old=" - 2", new="")]}, {"text": "Mended."}]
    resume = ["resume", "--output", "json", "--tests", "true", "--sandbox", "unconfined", "--mode", "full"]
    done = run(*resume, "--model", script(repo.root.parent, more, "more.json"), cwd=repo.root)
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["goal"] == {
        "text": "mend it",
        "check": "grep -q 'sum(items)$' cart.py",
        "turns": 2,
        "checks": ["exit 1", "exit 1", "exit 0"],
        "reached": True,
    }
    assert repo.show("cart.py").endswith("sum(items)\n")
    assert run("resume", cwd=repo.root).code == 2  # nothing is left to go on with
    [log] = logs()
    kinds = [json.loads(line) for line in log.read_text().splitlines()]
    assert next(each["stage"] for each in kinds if each["kind"] == "goal") == "set"
    assert kinds[-1]["kind"] == "end"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--max-turns", "3"], "--max-turns needs --goal or --until"),
        (["--until", "true", "--input", "stream-json"], "cannot be combined"),
        (["--until", " "], "--until is empty"),
        (["--until", "echo 'x"], "--until is no command line"),
    ],
)
def test_what_makes_no_sense_is_refused(options: list[str], said: str, repo: Repo) -> None:
    done = run("run", "mend it", *options, cwd=repo.root)
    assert (done.code, said in done.err) == (2, True), done.err


def test_a_signal_between_two_turns_pauses_the_goal(repo: Repo) -> None:
    options = [
        "--until",
        "touch waiting; sleep 60",
        "--tests",
        "true",
        "--sandbox",
        "unconfined",
        "--mode",
        "full",
    ]
    words = ["run", "mend it", *options, "--model", script(repo.root.parent, [{"text": "So."}])]
    process = subprocess.Popen(
        [*PATCHWRIGHT, *words], cwd=repo.root, env=environment(), stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: (repo.root / "waiting").exists())
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    [log] = logs()
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [each["stage"] for each in events if each["kind"] == "goal"] == ["set", "paused"]
    assert (events[-1]["kind"], events[-1]["outcome"]) == ("end", "interrupted")
    assert list_unanswered_calls(list(read_events(log.parent))) == []
