"""kill -9 at any moment: the log opens, the session goes on, no file is half-written."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from agent.events import MessageEvent, ObservationEvent
from agent.session.log import Session, read_events
from tests.end_to_end.story import FIXES, SUMMARY, repair
from tests.support.cli import PATCHWRIGHT, environment, git, run, script
from tests.support.invariants import list_unanswered_calls

KILLS = 4 * int(os.environ.get("PATCHWRIGHT_STRESS", "1"))
SEED = int(os.environ.get("PATCHWRIGHT_SEED", "20261121"))


def states_of(path: str, original: str) -> set[str]:
    """Every content that a file may have between whole edits."""
    states, text = {original}, original
    for each, old, new in FIXES:
        if each == path:
            text = text.replace(old, new)
            states.add(text)
    return states


def count_log_lines(home: Path) -> int:
    """How far the session of a home has come."""
    logs = (home / "data").glob("projects/*/sessions/*/log.jsonl")
    return sum(log.read_bytes().count(b"\n") for log in logs)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kills_at_random_moments_lose_nothing(ledger: Path, tmp_path: Path) -> None:
    print(f"seed {SEED}")
    dice = random.Random(SEED)
    turns = repair()
    for turn in turns:
        turn.pop("expect", None)  # an interrupted action is answered otherwise than the story expects
    turns[2]["repeat"] = 2  # as a model would: edits that a kill prevented are asked for again
    model = script(tmp_path, turns)
    originals = {path: (ledger / path).read_text() for path, _, _ in FIXES}
    template = tmp_path / "template"
    shutil.copytree(ledger, template, symlinks=True)
    whole_home = tmp_path / "home-whole"
    whole = run("run", "go", "--model", model, cwd=ledger, env={"PATCHWRIGHT_HOME": str(whole_home)})
    assert whole.code == 0
    lines = count_log_lines(whole_home)
    killed = 0
    for number in range(KILLS):
        shutil.rmtree(ledger)
        shutil.copytree(template, ledger, symlinks=True)
        home = tmp_path / f"home-{number}"
        env = {"PATCHWRIGHT_HOME": str(home)}
        process = subprocess.Popen(
            [*PATCHWRIGHT, "run", "go", "--model", model],
            cwd=ledger, env=environment(env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        # By what it has done and not by the clock: a busy machine takes longer for this run than for the last one.
        moment, later = dice.randrange(lines), dice.uniform(0, 0.1)
        while count_log_lines(home) < moment and process.poll() is None:
            time.sleep(0.005)
        time.sleep(later)
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        for path, original in originals.items():
            assert (ledger / path).read_text() in states_of(path, original), f"{path} is half-written"
        logs = list((home / "data").glob("projects/*/sessions/*"))
        if not logs:
            continue  # killed before there was a session
        session = Session.open(logs[0])
        session.close()
        events = list(read_events(logs[0]))
        assert list_unanswered_calls(events) == []
        if not any(event.kind == "prompt" for event in events) or events[-1].kind == "end":
            continue
        resumed = run("resume", "--model", model, cwd=ledger, env=env)
        assert resumed.code == 0, f"after kill {number}: {resumed.err}"
        assert resumed.out.strip() == SUMMARY
        assert git(ledger, "rev-list", "--count", "HEAD").strip() == "11"
        assert git(ledger, "status", "--porcelain") == "", f"after kill {number}"
        calls = [a.id for e in read_events(logs[0]) if isinstance(e, MessageEvent) for a in e.actions]
        answers = [e.call for e in read_events(logs[0]) if isinstance(e, ObservationEvent)]
        assert set(calls) <= set(answers)
    assert killed > KILLS // 2, "most of the kills must hit a running session to prove anything"
