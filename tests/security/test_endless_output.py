"""A command that prints without end costs bounded disk, holds up no limit and no interrupt, and leaves nothing raw."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from agent.events import End, Event, ObservationEvent, Prompt
from agent.session.log import read_events
from sandbox.process.output_capture import SPILL_LIMIT, SPILL_PREFIX
from tests.support.cli import PATCHWRIGHT, call, environment, git, run, script

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

KEY = "ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7"

ENDLESS = {
    "lines": "yes",
    "one line": r"yes x | tr -d '\n'",
    "keys": f"yes {KEY}",
    "addresses": r"yes 'http://a:' | tr -d '\n'",
    "colours": r"yes \"$(printf '\033[31mred\033[0m token = abc')\"",
    "bytes": "cat /dev/urandom",
    "errors": f"yes {KEY} >&2",
    "both": "yes out & yes err >&2",
    "NUL": "cat /dev/zero",
    "returns": r"yes x | tr '\n' '\r'",
    "overwritten": r"yes \"$(printf 'a\b')\" | tr -d '\n'",
    "codes without an end": r"yes \"$(printf '\033]0;')\" | tr -d '\n'",
    "a key without an end": "echo -----BEGIN RSA PRIVATE KEY-----; yes MIIEpAIBAAKCAQEA",
    "halves of characters": r"yes \"$(printf '\342\202')\" | tr -d '\n'",
    "a terminal": "script -qc yes /dev/null",
    "many writers": "for i in 1 2 3 4 5 6 7 8; do yes $i & done; wait",
    "left behind": "(setsid yes &) ; sleep 60",
}

SLACK = 1.5
"""Seconds for a loaded machine; without bounds it were twenty."""


def start(tmp_path: Path, command: str, *options: str) -> subprocess.Popen[bytes]:
    (tmp_path / "a.py").write_text("x = 1\n")
    git(tmp_path, "init", "-q")
    turns = [{"calls": [call("shell", command=command)]}, {"text": "done", "repeat": 9}]
    words = ["run", "go", "--model", script(tmp_path.parent, turns), "--no-commit", *options]
    return subprocess.Popen(
        [*PATCHWRIGHT, *words],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def list_data() -> list[Path]:
    return [each for each in Path(os.environ["PATCHWRIGHT_HOME"]).rglob("*") if each.is_file()]


def read_log() -> list[Event]:
    logs = [each for each in list_data() if each.name == "log.jsonl"]
    return list(read_events(logs[0].parent)) if logs else []


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("how", ENDLESS)
def test_a_limit_holds_while_a_command_prints(how: str, root: Path) -> None:
    process = start(root, ENDLESS[how], "--max-time", "3")
    assert process.wait(60) == 4
    events = read_log()
    begun = next(each.time for each in events if isinstance(each, Prompt))
    ended = next(each.time for each in events if isinstance(each, End))
    assert ended - begun < 3 + SLACK
    assert sum(each.stat().st_size for each in list_data()) < SPILL_LIMIT + (4 << 20)


@pytest.mark.parametrize("how", ["lines", "keys"])
def test_an_output_cut_by_its_own_limit_is_kept_redacted_and_at_once(
    how: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATCHWRIGHT_SHELL_TIMEOUT", "2")
    assert start(root, ENDLESS[how]).wait(60) == 0
    (seen,) = [each for each in read_log() if isinstance(each, ObservationEvent)]
    assert seen.data["ended"] == "timeout"
    (kept,) = [each for each in list_data() if each.parent.name == "artifacts"]
    assert 1 << 18 < kept.stat().st_size <= SPILL_LIMIT
    assert KEY.encode() not in kept.read_bytes()
    times = [each.time for each in read_log()]
    assert times[-1] - times[0] < 2 + SLACK + 1


def test_an_interrupt_is_answered_while_a_command_prints(root: Path) -> None:
    process = start(root, "yes", "--max-time", "60")
    while not any(each.kind == "action" for each in read_log()):
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    asked = time.time()
    process.wait(60)
    (seen,) = [each for each in read_log() if isinstance(each, ObservationEvent)]
    assert seen.time - asked < SLACK


def test_a_kill_leaves_nothing_raw_and_nothing_behind(root: Path) -> None:
    process = start(
        root, f"for i in $(seq 40000); do echo line $i {KEY}; done; sleep 60", "--max-time", "100"
    )
    while not any(each.kind == "action" for each in read_log()):
        time.sleep(0.05)
    time.sleep(4)
    process.kill()
    process.wait()
    for path in list_data():
        if path.name != "log.jsonl":  # which has the command itself, redacted
            assert KEY.encode() not in path.read_bytes(), path
    assert run("sessions", cwd=root).code == 0
    turns = script(root.parent, [{"text": "done", "repeat": 9}], "more.json")
    session = next(each.parent.name for each in list_data() if each.name == "log.jsonl")
    assert run("run", "more", "--model", turns, "--session", session, cwd=root).code == 0
    assert not [each for each in list_data() if each.name.startswith(SPILL_PREFIX)]
