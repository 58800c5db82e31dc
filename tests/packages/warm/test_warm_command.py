"""`patchwright warm` with the installed command: runs and hooks in it, and nothing confined reaches it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.exit_codes import Exit
from tests.support.cli import call, git, script
from tests.support.loopback import Loopback

COMMAND = Path(sys.executable).with_name("patchwright")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the warm process needs Linux"),
    pytest.mark.skipif(not COMMAND.exists(), reason="the command is not installed"),
]


def start(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the installed command to its end."""
    return subprocess.run(
        [str(COMMAND), *words], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip


def count_runs(cwd: Path) -> int:
    """How many runs the warm process has started."""
    return int(start("warm", "state", cwd=cwd).stdout.partition(" has started ")[2].split()[0])


@pytest.fixture
def warm(ledger: Path) -> Iterator[Path]:
    """The demo project, beside a warm process."""
    assert "is ready" in start("warm", cwd=ledger).stdout
    yield ledger
    start("warm", "stop", cwd=ledger)


def test_it_is_started_shown_and_stopped(ledger: Path) -> None:
    assert start("warm", "state", cwd=ledger).stdout == "there is no warm process\n"
    assert start("warm", "stop", cwd=ledger).returncode == 0
    started = start("warm", "--idle", "5", cwd=ledger)
    assert (started.returncode, started.stderr) == (0, "")
    assert "it ends after 5 minutes without a start" in started.stdout
    assert "is there" in start("warm", cwd=ledger).stdout
    assert "has started 0 and runs 0" in start("warm", "state", cwd=ledger).stdout
    assert "ends as soon as nothing runs in it" in start("warm", "stop", cwd=ledger).stdout
    assert start("warm", "state", cwd=ledger).stdout == "there is no warm process\n"


def test_the_same_task_ends_the_same(warm: Path) -> None:
    turns: list[dict[str, Any]] = [
        {"calls": [call("shell", command="echo $((6 * 7)) > noted.txt; cat noted.txt")]},
        {"text": "Noted."},
    ]
    model = script(warm.parent, turns)
    ends = [
        start("run", "note it", "--model", model, "--no-commit", "-o", "json", cwd=warm) for _ in range(3)
    ]
    start("warm", "stop", cwd=warm)
    ends.append(start("run", "note it", "--model", model, "--no-commit", "-o", "json", cwd=warm))
    told = [json.loads(each.stdout) for each in ends]
    for each in told:
        for name in ("session", "seconds", "cost", "duration"):
            each.pop(name, None)
    assert {each.returncode for each in ends} == {ends[-1].returncode}
    assert told[0].keys() == told[-1].keys()
    assert (warm / "noted.txt").read_text() == "42\n"
    assert [each.get("outcome") for each in told] == [told[-1].get("outcome")] * 4


def test_what_a_run_has_loaded_is_there_for_the_next(warm: Path) -> None:
    with Loopback() as server:
        words = ("run", "hi", "--model", "openai/x", "--api-base", server.url)
        sizes = []
        for _ in range(3):
            assert start(*words, cwd=warm).returncode == 0
            state = start("warm", "state", cwd=warm).stdout
            status = Path(f"/proc/{state.split()[3]}/status").read_text()
            sizes.append(int(status.partition("VmRSS:")[2].split()[0]))
    assert count_runs(warm) == 3
    assert sizes[-1] < 120_000  # KB


def test_a_hook_runs_in_it_and_knows_the_commit_that_waits_for_it(warm: Path) -> None:
    assert start("hook", "install", "pre-commit", cwd=warm).returncode == 0
    (warm / "good.py").write_text("x = 1\n")
    git(warm, "add", "good.py")
    git(warm, "commit", "-qm", "add a good file")
    assert count_runs(warm) == 1
    (warm / "bad.py").write_text("def f(:\n")
    git(warm, "add", "bad.py")
    refused = subprocess.run(
        ["git", "-C", str(warm), "commit", "-qm", "add a bad file"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 1
    assert "bad.py" in refused.stderr
    assert count_runs(warm) == 2


def test_its_place_is_the_users_alone(warm: Path) -> None:
    place = Path(os.environ["PATCHWRIGHT_HOME"], "data", "warm")
    assert {each.name: each.lstat().st_mode & 0o777 for each in (place, *place.iterdir())} == {
        "warm": 0o700, "socket": 0o600, "lock": 0o600,
    }  # fmt: skip


ASK = """
import socket, sys
try:
    link = socket.socket(socket.AF_UNIX)
    link.connect(sys.argv[1])
    link.sendall(b"4\\nstop")
    print("reached")
except OSError as error:
    print("not reached")
"""


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_no_command_of_a_session_reaches_it(warm: Path, sandbox: str) -> None:
    place = Path(os.environ["PATCHWRIGHT_HOME"], "data", "warm", "socket")
    (warm / "ask.py").write_text(ASK)
    turns: list[dict[str, Any]] = [
        {"calls": [call("shell", command=f"python3 ask.py {place}")]},
        {"text": "Tried."},
    ]
    model = script(warm.parent, turns)
    ended = start(
        "run", "try it", "--model", model, "--sandbox", sandbox, "--no-commit", "-o", "stream-json", cwd=warm
    )
    if ended.returncode == Exit.CONFIGURATION and sandbox in ended.stderr:
        pytest.skip(f"no {sandbox} here: {ended.stderr}")
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    texts = [each["text"] for each in told if each["kind"] == "observation"]
    assert any("not reached" in each for each in texts), ended
    assert "has started 1 " in start("warm", "state", cwd=warm).stdout
