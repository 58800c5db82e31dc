"""Standard streams that are closed, full or left by their reader: the work is done, and the code says the rest."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from agent.events import End, parse_event
from cli.output.standard_streams import print_json
from tests.support.cli import PATCHWRIGHT, Result, environment, git, script

pytestmark = pytest.mark.slow  # each test starts whole programs or real repositories

full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    repository = tmp_path / "plain"
    repository.mkdir()
    git(repository, "init", "-q")
    return repository


def shell(command: str, *arguments: str, cwd: Path) -> Result:
    """Run a line of bash in which $PW stands for the program with `arguments`."""
    program = shlex.join([*PATCHWRIGHT, *arguments])
    done = subprocess.run(
        ["bash", "-c", command.replace("$PW", program)],
        cwd=cwd, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return Result(code=done.returncode, out=done.stdout, err=done.stderr)


@full
@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_a_full_standard_output_ends_with_the_code_of_a_full_device(
    plain: Path, tmp_path: Path, output: str
) -> None:
    model = script(tmp_path, [{"text": "hello"}])
    result = shell("$PW >/dev/full", "run", "hi", "--output", output, "--model", model, cwd=plain)
    assert result.code == 11
    assert "Traceback" not in result.err
    assert "No space left" in result.err


@full
def test_a_list_on_a_full_device(plain: Path) -> None:
    result = shell("$PW >/dev/full", "init", "--print", cwd=plain)
    assert (result.code, result.err) == (11, "patchwright: no space left on the device\n")


def test_a_reader_that_leaves_a_list_is_no_failure(plain: Path) -> None:
    result = shell("$PW | true; exit ${PIPESTATUS[0]}", "init", "--print", cwd=plain)
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_changes_nothing_else(plain: Path, tmp_path: Path, closed: str) -> None:
    model = script(tmp_path, [{"text": "hello"}])
    result = shell(f"$PW {closed}", "run", "hi", "--model", model, cwd=plain)
    assert result.code == 0, result.err
    assert "Traceback" not in result.err
    assert result.out == ("" if ">&-" in closed.replace("2>&-", "") else "hello\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_prompt_has_come_ends_with_a_last_event(
    plain: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [*PATCHWRIGHT, "run", "--output", "json"],
        cwd=plain, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _until_it_handles(process.pid, signal.SIGTERM)
    process.send_signal(number)
    out, errors = process.communicate(timeout=20)
    assert process.returncode == 130, errors.decode()
    last = parse_event(out)
    assert isinstance(last, End)
    assert last.outcome == "interrupted"


def test_a_run_under_nohup_outlives_its_terminal(plain: Path, tmp_path: Path) -> None:
    model = script(tmp_path, [{"text": "hello", "delay": 2}])
    process = subprocess.Popen(
        ["nohup", *PATCHWRIGHT, "run", "hi", "--model", model],
        cwd=plain, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _until_it_handles(process.pid, signal.SIGTERM)
    process.send_signal(signal.SIGHUP)
    out, errors = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, b"hello\n"), errors.decode()


def _until_it_handles(pid: int, number: signal.Signals) -> None:
    """Wait until a process has a handler of its own for a signal."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        pytest.skip("no /proc to look at")
    for _ in range(500):
        caught = next(line for line in status.read_text().splitlines() if line.startswith("SigCgt:"))
        if int(caught.split()[1], 16) >> (number - 1) & 1:
            return
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("it never did")


def test_json_has_names_that_are_no_utf_8(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    print_json({"name": "caf\udce9.py"})
    assert json.loads(capsysbinary.readouterr().out) == {"name": "caf\udce9.py"}
