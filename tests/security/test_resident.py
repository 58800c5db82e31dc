"""Attacks on a resident sandbox: on its server, on the next command, and by what changes between two commands."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.backends.bubblewrap import Bubblewrap, probe_overlays
from sandbox.backends.constraints import Constraints
from sandbox.process.command import Command, Completed, Limits
from sandbox.resident import place
from tests.sandbox.boxes import IS_STRESS, bwrap, living, privilege
from tests.security.conftest import Scene

PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable


class Resident:
    """A sandbox whose commands all have to run in a resident place. left: commands that did not"""

    def __init__(self, root: Path, name: str) -> None:
        chosen = "user" if name == "user" else privilege()
        self.root = root
        self.box = Bubblewrap(
            Constraints(root),
            program=bwrap(),
            privilege=chosen,
            overlays=probe_overlays(bwrap(), chosen),
            resident="always",
        )
        self.started = 0
        self._earlier = frozenset(
            list_servers(os.getpid())
        )  # of boxes that other tests left to their idle time

    def sh(self, script: str, **options: object) -> str:
        """The output of a script that ran in a place, not in a sandbox of its own."""
        before = self.started
        done = self.run(script, **options)
        assert self.started == before + 1, "the command ran in a sandbox of its own"
        return done.stdout.text()

    def run(self, script: str, **options: object) -> Completed:
        argv = ("/bin/sh", "-c", script)
        return asyncio.run(self.box.run(Command(argv=argv, cwd=self.root, **options)))  # type: ignore[arg-type]

    def python(self, source: str, **options: object) -> str:
        (self.root / "attack.py").write_text(source)
        return self.sh(f"exec {PYTHON} attack.py 2>&1", **options)

    def server(self) -> int:
        """The process id of the server of the one place."""
        (found,) = self.servers()
        return found

    def servers(self) -> list[int]:
        """The process ids of the servers of this sandbox's places."""
        return [each for each in list_servers(os.getpid()) if each not in self._earlier]


def list_servers(owner: int) -> list[int]:
    """The servers that a process has started: each is a child of its bubblewrap."""
    return [each for each in living("exec(open(") if find_parent(find_parent(each)) == owner]


def find_parent(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # it ended meanwhile
        return 0


@pytest.fixture(params=["root", "user"] if IS_STRESS else ["user"])
def resident(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Resident]:
    home, root = tmp_path / "home", tmp_path / "shop"
    (home / ".cargo" / "registry").mkdir(parents=True)
    (home / ".cargo" / "credentials.toml").write_text("token = very-secret")
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    monkeypatch.setenv("HOME", str(home))
    found = Resident(root, request.param)
    start = place.ResidentProcess.start

    def count(self: place.ResidentProcess, streams: object) -> None:
        found.started += 1
        start(self, streams)  # type: ignore[arg-type]

    monkeypatch.setattr(place.ResidentProcess, "start", count)
    yield found
    found.box.close()


def test_the_server_is_neither_seen_nor_opened(resident: Resident) -> None:
    assert resident.sh("cd /proc && echo [0-9]*").split()[0] == "1"
    assert len(resident.sh("cd /proc && echo [0-9]*").split()) == 2
    seen = resident.sh(
        "for each in environ mem maps cwd root exe fd/3 fd/4 fd/5 ns/mnt map_files; do"
        " cat /proc/1/$each 2>&1; readlink /proc/1/$each; ls /proc/1/$each/ 2>/dev/null; done | sort -u"
    )
    assert "PATH=" not in seen
    assert "socket:" not in seen
    assert "mnt:[" not in seen
    assert resident.sh("ls /proc/1/cwd/ /proc/1/root/ /proc/1/fd/3/ 2>/dev/null") == ""
    own = resident.sh("ls -l /proc/self/fd; cat /proc/net/unix")
    assert "socket:" not in own
    assert "memfd" not in own
    assert not [line for line in own.splitlines() if "@" in line]


def test_signals_traces_and_limits_do_not_reach_the_server(resident: Resident) -> None:
    resident.sh("true")
    server = resident.server()
    source = """
import ctypes, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV):
    for process in (1, -1):
        if process == 1 or number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN) if process == -1 else None
            try: os.kill(process, number)
            except OSError: pass
def attempt(name, call, *arguments):
    print(name, "worked" if call(*arguments) >= 0 else "refused")
attempt("trace", libc.ptrace, 16, 1, 0, 0)
attempt("seize", libc.ptrace, 0x4206, 1, 0, 0)
attempt("handle", libc.syscall, 438, libc.syscall(434, 1, 0), 3, 0)
try:
    resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))
    print("limit worked")
except OSError:
    print("limit refused")
buffer = ctypes.create_string_buffer(8)
attempt("memory", libc.syscall, 310, 1, buffer, 1, buffer, 1, 0)
for flags in (0x00020000, 0x10000000, 0x20000000, 0x40000000):
    attempt("namespace", libc.unshare, flags)
"""
    found = resident.python(source)
    assert "worked" not in found
    assert found.count("refused") == 9
    assert resident.sh("echo on") == "on\n"
    assert resident.server() == server


def test_a_command_keeps_no_capability_for_mounts(resident: Resident) -> None:
    status = resident.sh("cat /proc/self/status")
    field = {line.split(":")[0]: line.split(":")[1].strip() for line in status.splitlines()}
    allowed = 0b1011 if resident.box._counts_apart is False else 0
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(field[name], 16) & ~allowed == 0, name
    assert field["NoNewPrivs"] == "1"
    assert field["Seccomp"] == "2"
    refused = (
        "umount /tmp; umount -l /proc; mount --bind / /tmp; mount -o remount,rw /; mount -t tmpfs x /tmp"
    )
    assert resident.sh(f"{refused}; grep -c ' /tmp ' /proc/self/mountinfo 2>&1").splitlines()[-1] != "0"
    resident.sh("umount .git; umount -l .git; echo bad > .git/config")
    assert "bad" not in (resident.root / ".git" / "config").read_text()


def test_nothing_of_a_command_is_left_for_the_next(resident: Resident) -> None:
    places = "/tmp /run /var/tmp /dev/shm $HOME $HOME/.cargo $HOME/.cargo/registry"
    before = resident.sh(f"ls -aR {places}")
    resident.sh(f"for each in {places}; do echo here > $each/left; chmod 777 $each; done; mkfifo /tmp/pipe")
    resident.sh("rm -rf $HOME/.cargo/registry; dd if=/dev/zero of=/tmp/big bs=1M count=64 2>&1")
    assert resident.sh(f"ls -aR {places}") == before
    assert resident.sh("cat $HOME/.cargo/credentials.toml 2>&1; ls -A /tmp").count("secret") == 0
    modes = resident.sh("stat -c %a /tmp /run $HOME $HOME/.cargo")
    assert "777" not in modes
    assert not (Path(os.environ["HOME"]) / ".cargo" / "left").exists()
    resident.python(
        "import ctypes; libc = ctypes.CDLL(None)\n"
        "print(libc.shmget(77, 4096, 0o1666), libc.semget(77, 1, 0o1666), libc.msgget(77, 0o1666))"
    )
    assert "77" not in resident.sh("cut -c1-12 /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg")


def test_daemons_die_with_their_command(resident: Resident) -> None:
    word = f"trace-{os.urandom(6).hex()}"
    resident.sh(
        f"(setsid sh -c 'sleep 0.3; touch late; tail -f /dev/null {word}' >/dev/null 2>&1 &) ; sleep 0.1"
    )
    assert living(word) == []
    assert "tail" not in resident.sh("cat /proc/[0-9]*/comm")
    time.sleep(0.5)
    assert not (resident.root / "late").exists()


def test_a_network_is_as_if_new(resident: Resident) -> None:
    """A port that was just used can be bound again, and nobody listens."""
    source = """
import socket
listener = socket.socket()
listener.bind(("127.0.0.1", 8431))
listener.listen()
client = socket.create_connection(("127.0.0.1", 8431))
server, _ = listener.accept()
server.close(); client.close()
print(open("/proc/net/dev").read().count("lo:"), "served")
"""
    for _ in range(3):
        assert "served" in resident.python(source)
        idle = resident.sh("grep lo: /proc/net/dev; tail -n +2 /proc/net/tcp")
        assert set(idle.partition("lo:")[2].split()) == {"0"}


def test_a_spent_limit_is_the_commands_own(resident: Resident) -> None:
    bomb = "i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done; wait"
    hard = resident.sh("ulimit -Hn")
    resident.run(bomb, limits=Limits(processes=20), timeout=3)
    assert resident.sh("ulimit -n 10; ulimit -f 1; ulimit -v 100000; ulimit -Hn") == "10\n"
    assert resident.sh("ulimit -Hn") == hard
    assert resident.sh("for i in 1 2 3 4 5 6 7 8; do sleep 0.1 & done; wait; echo all") == "all\n"


def test_typing_into_the_terminal_is_refused(resident: Resident) -> None:
    found = resident.python(
        "import fcntl, os\n"
        "try: os.open('/dev/tty', os.O_RDWR); print('terminal')\n"
        "except OSError: print('no terminal')\n"
        "master, slave = os.openpty()\n"
        "try: fcntl.ioctl(slave, 0x5412, b'x'); print('typed')\n"
        "except OSError: print('refused')\n"
    )
    assert found == "no terminal\nrefused\n"


def test_a_request_is_served_once(resident: Resident, monkeypatch: pytest.MonkeyPatch) -> None:
    start = place.ResidentProcess.start

    def start_twice(self: place.ResidentProcess, streams: object) -> None:
        start(self, streams)  # type: ignore[arg-type]
        start(self, streams)  # type: ignore[arg-type]

    monkeypatch.setattr(place.ResidentProcess, "start", start_twice)
    resident.run("echo run >> ran; sleep 0.2")
    monkeypatch.setattr(place.ResidentProcess, "start", start)
    resident.run("true")
    assert (resident.root / "ran").read_text() == "run\n"


def replace_by_rename(root: Path) -> None:
    (root / ".envrc.new").write_text("new")
    (root / ".envrc.new").rename(root / ".envrc")


def replace_by_another(root: Path) -> None:
    (root / ".envrc").unlink()
    (root / ".envrc").write_text("another")


def replace_folder(root: Path) -> None:
    (root / ".github" / "ci.yml").unlink()
    (root / ".github").rmdir()
    (root / ".github").mkdir()


def make_guarded(root: Path) -> None:
    (root / ".npmrc").write_text("registry=here")


@pytest.mark.parametrize(
    "change",
    [replace_by_rename, replace_by_another, replace_folder, make_guarded],
    ids=lambda each: each.__name__,
)
def test_guards_hold_after_a_change_outside(resident: Resident, change: Callable[[Path], None]) -> None:
    """The kernel removes a mount when its file is replaced; the next command has it again."""
    (resident.root / ".envrc").write_text("old")
    (resident.root / ".github").mkdir()
    (resident.root / ".github" / "ci.yml").write_text("on: push")
    for _ in range(2):
        resident.sh("true")
        change(resident.root) if not (resident.root / ".npmrc").exists() else None
        (resident.root / ".github" / "ci.yml").touch()
        done = resident.run(
            "echo bad >> .envrc; echo bad >> .github/ci.yml; echo bad > .github/more; echo bad >> .npmrc"
        )
        for name in (".envrc", ".github/ci.yml"):
            assert "bad" not in (resident.root / name).read_text()
        assert not (resident.root / ".github" / "more").exists()
        if change is make_guarded:
            assert "bad" not in (resident.root / ".npmrc").read_text()
        else:
            (resident.root / ".npmrc").unlink(missing_ok=True)
        assert done.ended == "exited"


def test_a_file_that_is_denied_later_cannot_be_read(resident: Resident) -> None:
    (resident.root / "keys.txt").write_text("very-secret")
    assert resident.sh("cat keys.txt") == "very-secret"
    assert "secret" not in resident.run("cat keys.txt", withheld=(resident.root / "keys.txt",)).stdout.text()
    assert resident.sh("cat keys.txt") == "very-secret"
    assert (
        "refused" in resident.run("touch made 2>/dev/null || echo refused", scope="read-only").stdout.text()
    )
    assert resident.sh("touch made && echo made") == "made\n"


@pytest.mark.parametrize("kind", ["denied", "guarded"])
def test_a_folder_renamed_around_a_closed_file_closes_the_new_one(resident: Resident, kind: str) -> None:
    """A mount goes with the folder that it is in, and its path leads to a file without one."""
    folder = resident.root / "conf"
    file = folder / ("keys.txt" if kind == "denied" else ".envrc")
    options = {"withheld": (file,), "scope": "read-only"} if kind == "denied" else {}
    for number in range(3):
        folder.mkdir()
        file.write_text(f"very-secret {number}")
        done = resident.run(f"cat conf/{file.name}; echo bad >> conf/{file.name}", **options)
        assert ("secret" in done.stdout.text()) is (kind == "guarded")
        assert "bad" not in file.read_text()
        folder.rename(resident.root.parent / f"old{number}")


def test_a_workspace_that_was_replaced_is_the_new_one(resident: Resident) -> None:
    (resident.root / "old").touch()
    assert "old" in resident.sh("ls")
    resident.root.rename(resident.root.with_name("before"))
    subprocess.run(["git", "init", "--quiet", str(resident.root)], check=True)
    resident.run("touch made")
    assert (resident.root / "made").exists()
    assert "old" not in resident.run("ls").stdout.text()


def test_commands_at_the_same_time_do_not_meet(resident: Resident) -> None:
    """The second has a sandbox of its own."""
    resident.sh("true")

    async def run_both() -> list[str]:
        scripts = (
            "echo one > /tmp/one; sleep 0.4; ls /tmp; cat /proc/[0-9]*/comm",
            "sleep 0.2; ls /tmp; ps ax",
        )
        commands = [Command(argv=("/bin/sh", "-c", each), cwd=resident.root) for each in scripts]
        return [done.stdout.text() for done in await asyncio.gather(*map(resident.box.run, commands))]

    first, second = asyncio.run(run_both())
    assert "one" in first
    assert "ps" not in first.split()
    assert "one" not in second


@pytest.mark.parametrize("timeout", [0.3, 20.0])
def test_a_killed_command_leaves_a_sandbox_that_works(resident: Resident, timeout: float) -> None:
    resident.sh("true")
    word = f"trace-{os.urandom(6).hex()}"

    def kill_server() -> None:
        os.kill(resident.server(), signal.SIGKILL)

    async def run() -> Completed:
        if timeout > 1:
            asyncio.get_running_loop().call_later(0.3, kill_server)
        argv = ("/bin/sh", "-c", f"echo begun; tail -f /dev/null {word}")
        return await resident.box.run(Command(argv=argv, cwd=resident.root, timeout=timeout))

    done = asyncio.run(run())
    assert done.returncode == -signal.SIGKILL
    assert done.ended == ("exited" if timeout > 1 else "timeout")
    assert "begun" in done.stdout.text()
    assert living(word) == []
    assert resident.run("echo on").stdout.text() == "on\n"
    assert resident.sh("echo on") == "on\n"


def test_our_own_death_leaves_nothing(resident: Resident) -> None:
    word = f"trace-{os.urandom(6).hex()}"
    child = os.fork()
    if child == 0:
        try:
            resident.sh("true")
            resident.run(f"touch begun; tail -f /dev/null {word}")
        finally:
            os._exit(1)
    deadline = time.monotonic() + 20
    while not (resident.root / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    servers = list_servers(child)
    assert living(word)
    assert servers
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while {*living(word), *servers} & {*living(word), *living("exec(open(")}:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("scene", ["resident", "resident-ordinary"], indirect=True)
def test_who_runs_the_program_does_not_matter(scene: Scene) -> None:
    """For an ordinary user's number bubblewrap makes a second user namespace, in which not all calls work."""
    attack = (
        "cat /proc/1/cmdline | tr '\\0' ' '; echo; id -u; umount /tmp; touch /tmp/left $HOME/left; ls /proc"
    )
    for answer in scene.run(attack, attack, attack):
        assert "exec(open(" in answer, "it had a sandbox of its own"
        assert f"\n{scene.user}\n" in answer
        assert "left" not in answer


def test_without_a_server_commands_run_as_ever(resident: Resident, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "_read_code", lambda: b"raise SystemExit(3)")
    for _ in range(5):
        assert resident.run("echo on").stdout.text() == "on\n"
    assert resident.started == 0


def test_a_place_that_is_not_used_ends(resident: Resident, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, "IDLE_SECONDS", 0.3)
    resident.sh("true")
    assert len(resident.servers()) == 1
    deadline = time.monotonic() + 10
    while resident.servers():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert resident.run("echo on").stdout.text() == "on\n"
    monkeypatch.undo()
    assert resident.run("echo on").stdout.text() == "on\n"


def test_an_idle_spare_does_not_end_a_command_that_runs(
    resident: Resident, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "IDLE_SECONDS", 0.3)
    assert resident.sh("sleep 1.5; echo done") == "done\n"
