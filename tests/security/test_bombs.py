"""Bombs: processes, threads, files, output, descriptors, timers, limits that a command raises for itself.

Each is bounded, so that the machine bears it where a limit should fail. A command prints BROKEN where it passed one.
"""

from __future__ import annotations

import os
import re
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox.process import resource_watch
from sandbox.process.resource_watch import count_threads, measure_available_memory
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.sandbox import boxes
from tests.sandbox.boxes import living
from tests.security.conftest import Scene

pytestmark = pytest.mark.slow

ALLOWED = 100


def most(scene: Scene) -> int:
    """How many processes to try. Under Landlock the kernel counts all of a user's; the limit is beside those."""
    return 4 * ALLOWED + (count_threads() if scene.box == "landlock" else 0)


FORKS = {
    "fork": "os.fork() or pause()",
    "clone": "libc.syscall(56 if x86 else 220, 17, 0, 0, 0, 0) or pause()",
    "clone of a parent": "libc.syscall(56 if x86 else 220, 17 | 0x8000, 0, 0, 0, 0) or pause()",
    "clone with shared files": "libc.syscall(56 if x86 else 220, 17 | 0x400 | 0x200, 0, 0, 0, 0) or pause()",
    "clone without a signal": "libc.syscall(56 if x86 else 220, 0, 0, 0, 0, 0) or pause()",
    "spawn": "os.posix_spawn('/bin/sh', ['sh', '-c', 'sleep 60; : ' + word], os.environ)",
    "daemons": "os.fork() or (os.setsid(), os.fork() or pause(), os._exit(0))",
    "sessions": "os.fork() or (os.setsid(), pause())",
    "zombies": "os.fork() or os._exit(0)",
    "stopped": "os.fork() or (os.kill(os.getpid(), 19), pause())",
    "deaf": "os.fork() or ([signal.signal(n, 1) for n in range(1, 32) if n not in (9, 19)], pause())",
    "shells": "subprocess.Popen(['sh', '-c', 'sleep 60; : ' + word])",
}
"""A call that makes one process more, as an expression; the child never returns from it."""

FORK = """
import ctypes, os, signal, subprocess, sys, time
libc, x86, word = ctypes.CDLL(None, use_errno=True), os.uname().machine == "x86_64", sys.argv[1]
def pause():
    end = time.monotonic() + 60
    while time.monotonic() < end:
        time.sleep(1)
    os._exit(0)
made = 0
for _ in range(int(sys.argv[2])):
    try:
        if (WAY) == -1:
            break
        made += 1
    except OSError:
        break
print("made", made, flush=True)
if made == int(sys.argv[2]):
    time.sleep(30)  # the watch ends it in the next moment, on a busy machine later
print("BROKEN" if made == int(sys.argv[2]) else "refused", flush=True)
"""


@pytest.mark.parametrize("way", FORKS)
def test_no_call_makes_more_processes_than_are_allowed(scene: Scene, way: str) -> None:
    """By the kernel's limit, or by our watch; and all are gone with the command."""
    word = f"bomb-{os.urandom(6).hex()}"
    script = FORK.replace("WAY", FORKS[way])
    answer = scene.run(
        scene.python_script(script, word, str(most(scene))), limits={"processes": ALLOWED}, timeout=60
    )[0]
    assert "BROKEN" not in answer
    assert "refused" in answer or "killed: it had more than 100 processes" in answer
    assert living(word) == []


THREADS = """
import sys, threading, time
made = 0
for _ in range(int(sys.argv[1])):
    try:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        made += 1
    except RuntimeError:
        break
if made == int(sys.argv[1]):
    time.sleep(30)
print("BROKEN" if made == int(sys.argv[1]) else "refused", flush=True)
"""


def test_no_process_makes_more_threads_than_are_allowed(scene: Scene) -> None:
    answer = scene.run(
        scene.python_script(THREADS, str(most(scene))), limits={"processes": ALLOWED}, timeout=60
    )[0]
    assert "BROKEN" not in answer


FILES = {
    "many small files": "for n in range(5000): open(f'src/f{n}', 'w').write(str(n))",
    "many folders": "for n in range(2000): os.mkdir(f'src/d{n}')",
    "huge names": "for n in range(500): open('src/' + f'{n:03}' + 'n' * 252, 'w').close()",
    "names of bytes": r"for n in range(128, 256): open(b'src/' + bytes([n, 10, 27, n]), 'w').close()",
    "a deep folder": "os.chdir('src')\nfor n in range(200): os.mkdir('d' * 100); os.chdir('d' * 100)\n"
    "open('x', 'w').write('x')",
    "sparse files": "for n in range(20): os.truncate(os.open(f'src/s{n}', 65), 3 << 30)",
    "many links": "for n in range(2000): os.link('src/cart.py', f'src/l{n}')",
    "circles of links": "for n in range(500): os.symlink(f'l{(n + 1) % 500}', f'src/l{n}')",
    "pipes and sockets": "for n in range(500): os.mkfifo(f'src/p{n}')",
    "closed folders": "for n in range(200): os.makedirs(f'src/c{n}/x'); os.chmod(f'src/c{n}', 0)",
    "writing over": "open('src/cart.py', 'w').write('x' * (8 << 20)); os.mkdir('src/a'); os.rename('src/a', 'src/b')",
}


@pytest.mark.parametrize("how", FILES)
def test_undo_takes_back_a_bomb_of_files(scene: Scene, how: str, tmp_path: Path) -> None:
    snapshots = Snapshots(scene.root, tmp_path / "store")
    before = snapshots.take()
    answer = scene.run(scene.python_script(f"import os\n{FILES[how]}\nprint('done')"), timeout=60)[0]
    assert "done" in answer
    start = time.monotonic()
    with bounded_memory(300 << 20):
        snapshots.revert_unchanged([(before, snapshots.take())])
    snapshots.close()
    assert time.monotonic() - start < 60
    assert (scene.root / "src/cart.py").read_text() == "total = 0\n"
    left = [each for each in (scene.root / "src").iterdir() if each.name != "cart.py"]
    assert len(left) == 0 or how in SPECIAL, left[:3]
    assert {each.name for each in scene.root.iterdir()} <= {".git", "src"}


SPECIAL = ("pipes and sockets", "many folders", "closed folders", "sparse files", "a deep folder")
"""What undo leaves: special files, empty folders, those nobody may look into, huge files, and what no path reaches."""


@contextmanager
def bounded_memory(most: int) -> Iterator[None]:
    """Our own peak does not grow by more."""
    Path("/proc/self/clear_refs").write_text("5")
    before = measure("VmRSS")
    yield
    assert measure("VmHWM") - before < most


def measure(field: str) -> int:
    found = re.search(rf"{field}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) << 10


OUTPUTS = {
    "1 GB of NUL": "head -c 1000000000 /dev/zero",
    "300 MB in one line": r"head -c 300000000 /dev/zero | tr '\0' x",
    "300 MB of ends of line": r"head -c 300000000 /dev/zero | tr '\0' '\n'",
    "300 MB that is no text": r"head -c 300000000 /dev/zero | tr '\0' '\377'",
    "300 MB to both": "head -c 150000000 /dev/zero & head -c 150000000 /dev/zero >&2; wait",
    "a byte at a time": "i=0; while [ $i -lt 30000 ]; do printf x; i=$((i+1)); done",
}


@pytest.mark.parametrize("how", OUTPUTS)
def test_a_flood_of_output_costs_no_memory_and_a_bounded_file(how: str, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    box = boxes.make("bubblewrap", tmp_path / "root", tmp_path / "spill")
    with bounded_memory(32 << 20):
        done = boxes.sh(box, tmp_path / "root", OUTPUTS[how], timeout=120)
    assert done.returncode == 0
    assert done.stdout.total >= 30_000
    assert len(done.stdout.head) + len(done.stdout.tail) <= 64 << 10
    spilled = sum(each.stat().st_size for each in (tmp_path / "spill").rglob("*")) if done.stdout.spill else 0
    assert spilled <= 256 << 20


DESCRIPTORS = {
    "files": "open('/dev/null')",
    "pipes": "os.pipe()",
    "copies": "os.dup(0)",
    "socket pairs": "socket.socketpair()",
    "events": "os.eventfd(0)",
    "polls": "select.epoll()",
    "memory": "os.memfd_create('m')",
    "watches": "libc.inotify_init1(0) >= 0 or fail()",
    "timers": "libc.timerfd_create(1, 0) >= 0 or fail()",
    "signals": "libc.signalfd(-1, ctypes.byref(ctypes.c_uint64(0)), 0) >= 0 or fail()",
    "processes": "os.pidfd_open(os.getpid())",
}

OPEN = """
import ctypes, os, select, socket
libc, held = ctypes.CDLL(None, use_errno=True), []
def fail():
    raise OSError
try:
    for _ in range(200):
        held.append(WAY)
    print("BROKEN")
except OSError:
    pass
"""


def test_no_kind_of_descriptor_passes_the_limit(scene: Scene) -> None:
    attacks = [scene.python_script(OPEN.replace("WAY", way)) for way in DESCRIPTORS.values()]
    answers = scene.run(*attacks, limits={"open_files": 64})
    assert [way for way, answer in zip(DESCRIPTORS, answers, strict=True) if "BROKEN" in answer] == []


RAISE = """
import os, resource, sys
ours = int(sys.argv[1])
def attempt(what, way):
    try:
        way()
        print("BROKEN", what)
    except (OSError, ValueError, PermissionError):
        pass
for name in ("NPROC", "NOFILE", "FSIZE", "DATA", "CORE"):
    which = getattr(resource, f"RLIMIT_{name}")
    soft, hard = resource.getrlimit(which)
    if hard == resource.RLIM_INFINITY:
        print("BROKEN", name, "is not limited")
    attempt(name, lambda: resource.setrlimit(which, (hard + 1024, hard + 1024)))
    attempt(name, lambda: resource.setrlimit(which, (resource.RLIM_INFINITY,) * 2))
    attempt(name, lambda: resource.prlimit(0, which, (resource.RLIM_INFINITY,) * 2))
for pid in {os.getppid(), ours} - {0, 1, os.getpid()}:  # 1: the sandbox's own, or not ours to change
    attempt(f"limit of {pid}", lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3)))
for value in (-20, -1):
    attempt("nice", lambda: os.nice(value))
    attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, value))
    attempt("priority of ours", lambda: os.setpriority(os.PRIO_PROCESS, ours, value))
for policy in (os.SCHED_FIFO, os.SCHED_RR):
    attempt("real time", lambda: os.sched_setscheduler(0, policy, os.sched_param(50)))
print("tried")
"""

SHELL_RAISES = "for f in u n f d c; do ulimit -$f unlimited 2>/dev/null && echo BROKEN $f; done; true"


def test_no_command_raises_its_limits_or_changes_ours(scene: Scene) -> None:
    """As root too: what may lift limits is taken from a command."""
    before = {which: resource.getrlimit(which) for which in range(10)}
    priority = os.getpriority(os.PRIO_PROCESS, 0)
    answers = scene.run(
        scene.python_script(RAISE, str(os.getpid())),
        SHELL_RAISES,
        "nice -n -20 true 2>&1 | grep -q denied || [ $(nice -n -20 nice 2>/dev/null) -ge 0 ] || echo BROKEN",
        "ionice -c 1 -n 0 true 2>/dev/null && [ $(id -u) = 0 ] && echo tried",
        limits={"processes": 200, "open_files": 128, "file_size": 1 << 20, "memory": 1 << 30},
    )
    assert not [answer for answer in answers if "BROKEN" in answer], answers
    assert "tried" in answers[0]
    assert {which: resource.getrlimit(which) for which in range(10)} == before
    assert os.getpriority(os.PRIO_PROCESS, 0) == priority


ENDLESS = {
    "timers": "signal.signal(14, lambda *_: None); signal.setitimer(0, 1e-5, 1e-5)\nwhile True: pass",
    "many timers": "libc, t = ctypes.CDLL(None), ctypes.c_int()\n"
    "for n in range(50000): libc.timer_create(1, None, ctypes.byref(t))\nwhile True: pass",
    "deaf": "[signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]\nwhile True: time.sleep(1)",
    "signals to itself": "signal.signal(10, lambda *_: None)\nwhile True: os.kill(os.getpid(), 10)",
    "signals to its group": "signal.signal(15, signal.SIG_IGN)\nwhile True: os.killpg(0, 15)",
    "stopped": "os.kill(os.getpid(), 19)\ntime.sleep(60)",
    "locks": "import fcntl\nf = open('src/cart.py')\nfcntl.flock(f, 2)\nfcntl.flock(open('src/cart.py'), 2)",
    "a new session each time": "while True:\n p = os.fork()\n if p: os._exit(0)\n os.setsid()\n time.sleep(0.01)",
    "output kept open": "os.fork() and os._exit(0)\nos.setsid()\ntime.sleep(60)",
    "reads its own pipe": "r, w = os.pipe()\nos.read(r, 1)",
    "fills a pipe": "r, w = os.pipe()\nwhile True: os.write(w, bytes(1 << 16))",
}  # fmt: skip


@pytest.mark.parametrize("how", ENDLESS)
def test_a_command_that_will_not_end_is_ended_in_time(scene: Scene, how: str) -> None:
    word = f"endless-{os.urandom(6).hex()}"
    script = f"import ctypes, os, signal, sys, time\n{ENDLESS[how]}"
    start = time.monotonic()
    scene.run(scene.python_script(script, word), timeout=2)
    assert time.monotonic() - start < 30
    assert living(word) == []


MEMORY: dict[str, str] = {
    "memory files": "for n in range(16): os.write(os.memfd_create('m'), b)",
    "shared mappings": "import mmap\nheld = [mmap.mmap(-1, 150 << 20) for n in range(16)]\nfor m in held: m.write(b)",
    "temporary files": "for n in range(16): open(f'/tmp/{n}', 'wb').write(b)",
    "processes": "for n in range(16): os.fork() or (bytearray(b), time.sleep(60), os._exit(0))",
}


def settle_available_memory() -> int:
    """Measure once it has stopped growing: that of the bomb before is freed by and by."""
    before = measure_available_memory()
    while True:
        time.sleep(0.1)
        now = measure_available_memory()
        if now - before < 8 << 20:
            return now
        before = now


@pytest.mark.parametrize("how", MEMORY)
def test_memory_of_every_kind_is_bounded_before_the_machine_is_out_of_it(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.4 GB, where the machine's last memory begins 400 MiB from here; no process alone has more than 300 MB."""
    monkeypatch.setattr(resource_watch, "LEAST_MEMORY", settle_available_memory() - (400 << 20))
    script = f"import os, time\nb = b'x' * (150 << 20)\n{MEMORY[how]}\ntime.sleep(50)\nprint('BROKEN')"
    done = boxes.run(boxes.make("bubblewrap", tmp_path), tmp_path, sys.executable, "-c", script, timeout=60)
    if "No space left" in done.stdout.text():  # /tmp has a size of its own
        return
    assert "BROKEN" not in done.stdout.text()
    assert "of memory were left on the machine" in "".join(done.noticed)


def test_our_own_work_goes_on_beside_a_bomb(tmp_path: Path) -> None:
    """While one command makes processes and files as fast as it can, another one answers."""
    box = boxes.make("bubblewrap", tmp_path, tmp_path.parent / "spill")
    bomb = "n=0; while [ $n -lt 3000 ]; do (: > f$n) & n=$((n+1)); done; wait"
    ended: list[float] = []

    def explode() -> None:
        boxes.sh(box, tmp_path, bomb, timeout=20)
        ended.append(time.monotonic())

    thread = threading.Thread(target=explode)
    thread.start()
    try:
        answers: list[Callable[[], str]] = []
        for _ in range(3):
            done = boxes.sh(boxes.make("bubblewrap", tmp_path), tmp_path, "echo works", timeout=15)
            answers.append(done.stdout.text)
        assert [each().strip() for each in answers] == ["works"] * 3
    finally:
        thread.join()
    assert ended
