"""A start from the server differs in nothing that the program can see from a real one."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.cli import PATCHWRIGHT, Result, call, environment, run, script
from tests.support.fork_server import can_fork_start
from tests.support.talking import at_rest
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow  # starts of the program, real ones too

REAL = ("env",)
"""A prefix to start the program anew."""

# While the program starts us it blocks all signals, and goes on a moment after we have begun.
_SETTLED = (
    "until grep -q '^SigBlk:.0*$' /proc/$PPID/status || [ $((n = n + 1)) -gt 100 ]; do sleep 0.1; done; "
)

LOOK = _SETTLED + (
    "grep -E '^(Sig[BCI]|Umask|NoNewPrivs|Seccomp:)' /proc/$PPID/status; ls /proc/$PPID/fd | head -4; env | sort"
    "; cut -d' ' -f5,6,7 /proc/$PPID/stat; cat; readlink /proc/$PPID/cwd; ulimit -Sn; ulimit -Hn; ulimit -Hc"
)


@pytest.fixture(autouse=True)
def _forked() -> None:
    if not can_fork_start(environment()):
        pytest.skip("starts are real ones here")


def _look(tmp_path: Path, wrap: tuple[str, ...]) -> list[str]:
    """Return what a command finds of the program that runs it."""
    (tmp_path / "work").mkdir(exist_ok=True)
    model = script(tmp_path, [{"calls": [call("shell", command=LOOK)]}, {"text": "seen"}])
    options = ("--no-commit", "--sandbox", "unconfined", "--mode", "full", "--output", "stream-json")
    env = {"TERM": "vt100", "OPENAI_API_KEY": "x"}
    done = run(
        "run", "-", "--model", model, *options, cwd=tmp_path / "work", stdin="go\n", env=env, wrap=wrap
    )
    assert done.code == 0, done.err
    (seen,) = [each["text"] for each in done.events if each["kind"] == "observation"]
    first, *lines = str(seen).splitlines()
    assert first.startswith("exit 0")  # and how long it took, on a busy machine
    return [line for line in lines if not line.startswith(("PATCHWRIGHT_COMMAND=", "_="))]


def test_a_command_finds_the_same_program_around_it(tmp_path: Path) -> None:
    forked = _look(tmp_path, ())
    assert "TERM=vt100" in forked
    assert forked == _look(tmp_path, REAL)


def test_the_same_is_answered(tmp_path: Path) -> None:
    for words in (
        ["--version"],
        ["nonsense"],
        ["run", "-C", "nowhere", "hi"],
        ["policy", "check", "rm -rf /"],
    ):
        found: list[Result] = [run(*words, cwd=tmp_path, wrap=wrap) for wrap in ((), REAL)]
        assert found[0] == found[1], words


def test_a_start_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    model = script(tmp_path, [{"text": "late", "delay": 60}])
    with pytest.raises(subprocess.TimeoutExpired):
        run("run", "hi", "--no-commit", "--model", model, cwd=tmp_path, timeout=0.5)


def test_other_variables_of_the_start_need_a_real_one() -> None:
    assert not can_fork_start(environment({"PYTHONOPTIMIZE": "1"}))
    assert not can_fork_start(environment({"NO_COLOR": "1"}))


def test_a_start_that_is_given_up_does_not_end_the_server(tmp_path: Path) -> None:
    model = script(tmp_path, [{"text": "late", "delay": 30}])
    with pytest.raises(subprocess.TimeoutExpired):
        run("run", "go", "--model", model, "--no-commit", cwd=tmp_path, timeout=0.5)
    assert [run("--version", cwd=tmp_path).code for _ in range(3)] == [0, 0, 0]


LOOK_FROM_TERMINAL = _SETTLED + (
    "{ grep -E '^(Sig[BCI]|Umask|NoNewPrivs|Seccomp:)' /proc/$PPID/status; ls /proc/$PPID/fd | head -3"
    "; env | grep -v ^PATCHWRIGHT_COMMAND= | sort; readlink /proc/$PPID/cwd; ulimit -Sn; ulimit -Hn"
    "; [ $(cut -d' ' -f6 /proc/$PPID/stat) = $PPID ] && echo leads its session"
    "; [ $(cut -d' ' -f7 /proc/$PPID/stat) != 0 ] && echo has a terminal"
    "; stty size <$(readlink /proc/$PPID/fd/0); } >seen 2>&1; touch done"
)


def _look_from_terminal(tmp_path: Path, start: tuple[str, ...]) -> list[str]:
    """Return what a command of the person's finds of the program on a terminal that runs it."""
    root = tmp_path / "talk"
    root.mkdir(exist_ok=True)
    for name in ("seen", "done"):
        (root / name).unlink(missing_ok=True)
    model = script(tmp_path, [{"text": "seen"}])
    argv = [*start, *PATCHWRIGHT, "--no-commit", "--sandbox", "unconfined", "--model", model]
    with Terminal(argv, cwd=root, env=environment({"OPENAI_API_KEY": "x"}), columns=90, rows=30) as terminal:
        assert terminal.is_forked == (not start)
        at_rest(terminal)
        terminal.type(f"!{LOOK_FROM_TERMINAL}\r")
        terminal.wait_beside((root / "done").exists)
        at_rest(terminal)
        terminal.type("\x04")
        assert terminal.wait_for_end() == 0
    return (root / "seen").read_text().splitlines()


def test_a_program_on_a_terminal_finds_what_one_of_a_real_start_does(tmp_path: Path) -> None:
    forked = _look_from_terminal(tmp_path, ())
    assert forked == _look_from_terminal(tmp_path, REAL)
    assert forked[-3:] == ["leads its session", "has a terminal", "30 90"]


def test_a_killed_program_on_a_terminal_is_seen_to_end(tmp_path: Path) -> None:
    (tmp_path / "talk").mkdir()
    argv = [*PATCHWRIGHT, "--no-commit", "--model", script(tmp_path, [])]
    with Terminal(argv, cwd=tmp_path / "talk", env=environment()) as terminal:
        at_rest(terminal)
        assert terminal.running
        os.kill(terminal.pid, signal.SIGKILL)
        with pytest.raises(AssertionError, match="ended by signal 9"):
            terminal.wait_for_end()
        assert not terminal.running
