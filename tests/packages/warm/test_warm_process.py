"""A run in the warm process is as one of its own: what it is given, how it ends; and who may not ask for one."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from patchwright.warm_client import find_place
from tests.support.cli import CHECKOUT, environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the warm process needs Linux"),
]

PROBE = CHECKOUT / "tests/packages/warm/warm_probe.py"
CLIENT = """
import os, sys
from patchwright.warm_client import run_warm
ended = run_warm(sys.argv, os.environb)
sys.exit("cold") if ended is None else sys.exit(ended)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Warm:
    """A warm process, its folder, and its environment."""

    process: subprocess.Popen[bytes]
    place: Path
    env: Mapping[str, str]

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """Start a client."""
        return subprocess.Popen(
            [sys.executable, "-c", CLIENT, *words],
            env={**self.env, **options.pop("env", {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=options.pop("stdin", subprocess.DEVNULL),
            text=True,
            **options,
        )

    def run(self, *words: str, input: str | None = None, **options: Any) -> tuple[int, str, str]:
        """Run a client to its end; returns exit code, output, errors."""
        if input is not None:
            options["stdin"] = subprocess.PIPE
        with self.start(*words, **options) as client:
            out, errors = client.communicate(input, timeout=30)
            return client.returncode, out, errors


def start_probe(place: Path, env: Mapping[str, str], idle: float = 60) -> subprocess.Popen[bytes]:
    """Start a warm process of probes, and wait until it listens."""
    process = subprocess.Popen([sys.executable, str(PROBE), str(place), str(idle)], env=env)
    wait_for((place / "socket").exists)
    return process


def wait_for(holds: Callable[[], object], seconds: float = 20) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.01)


@pytest.fixture
def warm() -> Iterator[Warm]:
    """A warm process of probes in the test's home."""
    env = environment()
    place = Path(find_place(env))
    process = start_probe(place, env)
    yield Warm(process=process, place=place, env=env)
    process.kill()
    process.wait()


def test_the_folder_is_that_of_the_programs_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variables in (
        {"PATCHWRIGHT_HOME": str(tmp_path)},
        {"HOME": str(tmp_path)},
        {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")},
        {"HOME": str(tmp_path), "XDG_DATA_HOME": "relative"},
        {"HOME": str(tmp_path), "PATCHWRIGHT_HOME": "~/own"},
        {"HOME": str(tmp_path), "PATCHWRIGHT_HOME": "own"},
    ):
        monkeypatch.setenv("HOME", variables.get("HOME", str(tmp_path)))
        assert find_place(variables) == str(Home.from_environment(variables).data / "warm"), variables


def test_a_run_has_what_its_caller_has(warm: Warm, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (333, 444))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.umask(0o027)
        os.nice(3)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.dup2(1, 7)

    code, out, errors = warm.run(
        "run", "a word", "", "mit Umlaut ä",
        cwd=tmp_path, input="from a pipe\n", env={"ODD": "a=b\nc"}, preexec_fn=limit, pass_fds=(7,),
    )  # fmt: skip
    assert (code, errors) == (0, "an error\n")
    told = json.loads(out)
    assert told["words"] == ["-c", "run", "a word", "", "mit Umlaut ä"]
    assert (told["folder"], told["mask"], told["input"]) == (str(tmp_path), 0o027, "from a pipe\n")
    assert (told["files"], told["core"], told["nice"], told["ignored"]) == ([333, 444], 0, 3, True)
    assert told["open"] == [0, 1, 2, 7]
    assert told["env"] == {**warm.env, "ODD": "a=b\nc"}
    assert told["parent"] == warm.process.pid
    assert told["caller"] not in (told["parent"], 0)


def test_a_closed_stream_stays_closed(warm: Warm) -> None:
    command = [sys.executable, "-c", CLIENT, "run"]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command],
        env=dict(warm.env), capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    assert json.loads(done.stdout)["input"] is None


@pytest.mark.parametrize(
    ("words", "code"),
    [(("exit", "0"), 0), (("exit", "13"), 13), (("raise",), 1), (("die",), -signal.SIGTERM)],
)
def test_it_ends_as_a_process_of_its_own_does(warm: Warm, words: tuple[str, ...], code: int) -> None:
    ended, _, errors = warm.run("run", *words)
    assert ended == code
    assert ("RuntimeError: of a run" in errors) == (words == ("raise",))


def test_an_interrupt_is_passed_on(warm: Warm, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with warm.start("run", "interrupt", str(begun)) as client:
        wait_for(begun.exists)
        client.send_signal(signal.SIGINT)
        out, _ = client.communicate(timeout=30)
    assert (client.returncode, out) == (130, "interrupted\n")


def test_a_stopped_caller_stops_its_run(warm: Warm, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    # A group of its own, as a shell gives one: in an orphaned one nothing is stopped.
    with warm.start("run", "interrupt", str(begun), process_group=0) as client:
        wait_for(lambda: begun.exists() and begun.read_text())
        run = Path(f"/proc/{begun.read_text()}/stat")
        client.send_signal(signal.SIGTSTP)
        wait_for(lambda: run.read_text().rpartition(")")[2].split()[0] == "T")
        wait_for(lambda: Path(f"/proc/{client.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        client.send_signal(signal.SIGCONT)
        wait_for(lambda: run.read_text().rpartition(")")[2].split()[0] == "S")
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=30)
    assert client.returncode == 130


def test_a_caller_that_is_not_stopped_goes_on(warm: Warm, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with warm.start("run", "interrupt", str(begun), start_new_session=True) as client:
        wait_for(lambda: begun.exists() and begun.read_text())
        run = Path(f"/proc/{begun.read_text()}/stat")
        client.send_signal(signal.SIGTSTP)
        time.sleep(0.3)
        wait_for(lambda: run.read_text().rpartition(")")[2].split()[0] == "S")
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=30)
    assert client.returncode == 130


@pytest.mark.parametrize("killed", ["caller", "warm process"])
def test_no_run_outlives_its_caller_or_the_warm_process(warm: Warm, tmp_path: Path, killed: str) -> None:
    begun = tmp_path / "begun"
    with warm.start("run", "write", str(begun)) as client:
        wait_for(lambda: begun.exists() and begun.read_text())
        (client if killed == "caller" else warm.process).kill()
        _, errors = client.communicate(timeout=30)
    run = Path(f"/proc/{begun.read_text()}/stat")
    wait_for(lambda: not run.exists() or run.read_text().rpartition(")")[2].split()[0] == "Z")
    if killed == "warm process":
        assert client.returncode == 70
        assert "the warm process ended amid this run" in errors


def test_runs_beside_each_other(warm: Warm) -> None:
    clients = [warm.start("run", str(number)) for number in range(6)]
    for number, client in enumerate(clients):
        out, _ = client.communicate(timeout=60)
        assert json.loads(out)["words"][2] == str(number)


COLD = (1, "", "cold\n")


def test_it_is_left_alone_by_a_program_that_starts_otherwise(warm: Warm) -> None:
    """Variables that only the start of a process heeds."""
    for variables in ({"LC_ALL": "de_DE"}, {"LD_LIBRARY_PATH": "/opt"}, {"LANG": "tr_TR.UTF-8"}):
        assert warm.run("run", env=variables) == COLD, variables
    assert warm.run("run")[0] == 0
    assert subprocess.run(
        [sys.executable, "-S", "-c", CLIENT, "run"],
        env=dict(warm.env), capture_output=True, text=True, check=False, timeout=30,
    ).stderr == "cold\n"  # fmt: skip


def forbid_new_privileges() -> None:
    """As every confined command has it."""
    import ctypes

    assert ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0  # linux/prctl.h: PR_SET_NO_NEW_PRIVS


def drop_a_capability() -> None:
    """As a container's process has it; needs root."""
    import ctypes

    assert ctypes.CDLL(None).prctl(24, 12, 0, 0, 0) == 0  # PR_CAPBSET_DROP, CAP_NET_ADMIN


def leave_the_names_of_the_host() -> None:
    """Enter a namespace of its own; needs root or user namespaces."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x04000000) and libc.unshare(0x10000000 | 0x04000000):  # CLONE_NEWUTS, CLONE_NEWUSER
        os._exit(77)


@pytest.mark.parametrize(
    "differ",
    [forbid_new_privileges, drop_a_capability, leave_the_names_of_the_host],
    ids=lambda each: each.__name__,
)
def test_nobody_gets_more_rights_by_asking(warm: Warm, differ: Callable[[], None]) -> None:
    if differ is drop_a_capability and os.geteuid():
        pytest.skip("only root has capabilities to drop")
    answer = warm.run("run", preexec_fn=differ)
    if answer[0] == 77:
        pytest.skip("no namespaces here")
    assert answer == COLD


def test_a_limit_that_cannot_be_taken_over_is_kept_by_not_asking(warm: Warm) -> None:
    if os.geteuid():
        os.nice(5)  # of this worker: harmless
    else:
        os.setpriority(os.PRIO_PROCESS, warm.process.pid, 5)
    try:
        code, _, _ = warm.run("run")
    finally:
        if not os.geteuid():
            os.setpriority(os.PRIO_PROCESS, warm.process.pid, 0)
    assert (code == 0) == bool(os.geteuid())


@pytest.mark.parametrize("spoil", ["open to others", "a link", "a file"])
def test_a_folder_that_is_not_the_users_alone_is_not_used(warm: Warm, tmp_path: Path, spoil: str) -> None:
    if spoil == "open to others":
        warm.place.chmod(0o755)
    else:
        moved = warm.place.rename(tmp_path / "moved")
        warm.place.symlink_to(moved) if spoil == "a link" else warm.place.write_text("")
    assert warm.run("run") == COLD


def test_a_warm_process_that_does_not_answer_costs_a_second(warm: Warm) -> None:
    warm.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    assert warm.run("run") == COLD
    assert time.monotonic() - began < 10
    warm.process.send_signal(signal.SIGCONT)
    assert warm.run("run")[0] == 0  # and the one that was given up was never begun


def test_junk_ends_nothing(warm: Warm) -> None:
    import socket

    for junk in (
        b"",
        b"junk",
        b"9999999999\n",
        b"3\nabc",
        b"12\nrun\0x\0-1\0zz",
        b"\0" * 100_000,
        b"-5\nrun",
    ):
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(10)
            link.connect(str(warm.place / "socket"))
            with suppress(BrokenPipeError):
                link.sendall(junk)
    assert warm.run("run")[0] == 0


def test_it_ends_when_idle_or_when_a_module_changes(tmp_path: Path) -> None:
    env = environment()
    place = Path(find_place(env))
    process = start_probe(place, env, idle=0.2)
    assert process.wait(timeout=30) == 0
    assert not (place / "socket").exists()
    extra = tmp_path / "extra"
    extra.mkdir()
    (extra / "sitecustomize.py").write_text("")
    env = {**env, "PYTHONPATH": os.pathsep.join((str(extra), env["PYTHONPATH"]))}
    process = start_probe(place, env)
    warm = Warm(process=process, place=place, env=env)
    assert warm.run("run")[0] == 0
    (extra / "sitecustomize.py").write_text("# changed")
    assert warm.run("run") == COLD
    assert process.wait(timeout=30) == 0


def test_a_second_one_ends_at_once_and_a_killed_one_is_replaced(warm: Warm) -> None:
    second = subprocess.run(
        [sys.executable, str(PROBE), str(warm.place), "60"],
        env=dict(warm.env), capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert "AlreadyThere" in second.stderr
    warm.process.kill()
    warm.process.wait()
    assert warm.run("run") == COLD
    process = start_probe(warm.place, warm.env)
    try:
        wait_for(lambda: warm.run("run")[0] == 0)
    finally:
        process.kill()
        process.wait()
