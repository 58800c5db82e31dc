"""Bounds that a command tries to leave: shared memory of other programs, file modes, devices, who dies of memory."""

from __future__ import annotations

import ctypes
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.process import resource_watch
from sandbox.process.resource_watch import measure_available_memory
from tests.sandbox import boxes
from tests.security.conftest import Scene

pytestmark = pytest.mark.slow


IPC_CREAT, IPC_RMID, KEY = 0o1000, 0, 0x5057_5254


@pytest.fixture
def shared_memory() -> Iterator[int]:
    """The id of a segment outside that everybody may write, with a word in it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    number = libc.shmget(KEY, 4096, IPC_CREAT | 0o666)
    assert number >= 0
    at = libc.shmat(number, None, 0)
    ctypes.memmove(at, b"precious", 8)
    try:
        yield number
        assert ctypes.string_at(at, 8) == b"precious"
    finally:
        libc.shmdt(ctypes.c_void_p(at))
        libc.shmctl(number, IPC_RMID, None)


SHARED = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
for number in (libc.shmget(int(sys.argv[1]), 4096, 0), int(sys.argv[2])):
    at = libc.shmat(number, None, 0) if number >= 0 else None
    if at not in (None, 2**64 - 1):
        ctypes.memmove(at, b"stolen!!", 8)
        print("WROTE")
segment, queue, semaphores = libc.shmget(77, 4096, 0o1666), libc.msgget(77, 0o1666), libc.semget(77, 1, 0o1666)
print("made", segment >= 0, queue >= 0, semaphores >= 0)
"""


def list_objects() -> list[str]:
    return [
        line.split()[0]
        for kind in ("shm", "msg", "sem")
        for line in Path("/proc/sysvipc", kind).read_text().splitlines()[1:]
    ]


def test_memory_that_others_share_is_out_of_reach_and_nothing_shared_stays(
    scene: Scene, shared_memory: int
) -> None:
    before = list_objects()
    answer = scene.run(scene.python_script(SHARED, str(KEY), str(shared_memory)))[0]
    own = scene.box == "bubblewrap"
    assert answer.split() == ["made", str(own), str(own), str(own)]
    assert list_objects() == before


SETUID = """
import ctypes, os, stat
libc = ctypes.CDLL(None, use_errno=True)
def make(name, way):
    try:
        way(f"src/{name}")
    except OSError:
        pass
def create(path, mode=0o755):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, mode))
def change(path):
    create(path); os.chmod(path, 0o4755)
def change_open(path):
    create(path); descriptor = os.open(path, os.O_WRONLY); os.fchmod(descriptor, 0o4755)
def change_at(path):
    create(path); os.chmod(os.path.basename(path), 0o4755, dir_fd=os.open("src", os.O_RDONLY))
def change_at2(path):
    create(path); libc.syscall(452, -100, path.encode(), 0o4755, 0)
def open_how(path):
    how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0)
    libc.syscall(437, -100, path.encode(), ctypes.byref(how), 24)
os.umask(0)
make("a", lambda path: create(path, 0o4755)); make("b", change); make("c", change_open); make("d", change_at)
make("e", change_at2); make("f", open_how); make("g", lambda path: os.mknod(path, 0o104755))
make("h", lambda path: libc.creat(path.encode(), 0o4755))
create("src/plain", 0o2755); os.chmod("src/plain", 0o2755); os.mkdir("src/folder"); os.chmod("src/folder", 0o2775)
print("tried", oct(os.stat("src/folder").st_mode)[-4:])
"""


def test_no_file_with_somebodys_rights_is_made(scene: Scene) -> None:
    answer = scene.run(
        scene.python_script(SETUID), "cp -p /usr/bin/passwd src/; chmod u+s src/cart.py; true"
    )[0]
    assert answer.split() == ["tried", "2775"]
    made = [path.name for path in (scene.root / "src").iterdir() if path.lstat().st_mode & stat.S_ISUID]
    assert made == []


def test_a_command_stays_the_first_to_be_ended_for_memory(scene: Scene) -> None:
    answer = scene.run(
        "echo -900 2>/dev/null > /proc/self/oom_score_adj; echo 0 2>/dev/null > /proc/self/oom_score_adj; "
        "echo -17 2>/dev/null > /proc/self/oom_adj; cat /proc/self/oom_score_adj"
    )[0]
    assert answer.split()[-1] == "500"


def test_memory_is_not_taken_as_files_of_devices(scene: Scene) -> None:
    size = 64 << 20
    places = "/dev/shm/big /dev/big /dev/pts/big /tmp/big"
    script = f"for f in {places}; do head -c 200000000 /dev/zero > $f; done 2>/dev/null"
    if scene.box == "bubblewrap":  # elsewhere these are the machine's own folders
        script += "; du -sbx /dev/shm /dev /tmp 2>/dev/null | sort -n | tail -1 | cut -f1"
    answer = scene.run(script, limits={"memory": size, "file_size": 0})[0]
    if scene.box == "bubblewrap":
        assert int(answer.split()[-1]) <= size + (1 << 20)
    assert not Path("/dev/shm/big").exists()
    assert not Path("/dev/big").exists()


def test_a_command_ends_before_the_machine_is_out_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many processes, each within its own limit; the machine's last memory begins 400 MiB from here."""
    monkeypatch.setattr(resource_watch, "LEAST_MEMORY", measure_available_memory() - (400 << 20))
    eat = "b = bytearray(150 << 20); b[::4096] = b'x' * len(b[::4096]); import time; time.sleep(20)"
    script = f'for i in 1 2 3 4 5 6; do {sys.executable} -c "{eat}" & done; wait'
    start = time.monotonic()
    done = boxes.sh(boxes.make("bubblewrap", tmp_path), tmp_path, script, timeout=20)
    assert time.monotonic() - start < 15
    assert "of memory were left on the machine" in done.noticed[0]
