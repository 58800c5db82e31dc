"""A start from the server differs in nothing that the program can see from a real one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.cli import Result, call, environment, run, script
from tests.support.fork_server import can_fork_start

pytestmark = pytest.mark.slow  # starts of the program, real ones too

REAL = ("env",)
"""A prefix to start the program anew."""

LOOK = (
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
    return [line for line in str(seen).splitlines() if not line.startswith(("PATCHWRIGHT_COMMAND=", "_="))]


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
