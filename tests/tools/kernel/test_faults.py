"""What blocks can do to their kernel: the session goes on each time, and says what happened."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.errors import Fault, UserError
from tests.tools.kernel.kernels import Kernel
from tools.core.action import Action, Observation

LONG = 300
"""Seconds that no test waits for: a block that runs for so long has not been stopped."""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with Kernel(tmp_path_factory.mktemp("faults") / "shop") as kernel:
        (kernel.at.root / "a.txt").write_text("content\n")
        yield kernel


def slow(code: str) -> Any:
    return pytest.param(code, marks=pytest.mark.slow)


def goes_on(kernel: Kernel) -> None:
    assert kernel.text("6 * 7") == "=> 42"


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        slow(f"import time; time.sleep({LONG})"),
        "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
        slow(f"import subprocess; subprocess.run(['sleep', '{LONG}'])"),
        slow("class Slow:\n    def __repr__(self):\n        while True: pass\nSlow()"),
        slow(f"import asyncio\nawait asyncio.sleep({LONG})"),
    ],
    ids=["loop", "sleep", "deadlock", "child", "repr", "await"],
)
def test_a_block_that_does_not_end_is_stopped_and_the_state_kept(kernel: Kernel, code: str) -> None:
    kernel.text("kept = 'kept'")
    observation = kernel.run(code, timeout=1)
    assert observation.data["ended"] == "timeout"
    assert observation.text.startswith("stopped after 1 s, the time limit")
    assert "variables are kept" in observation.text
    assert kernel.text("kept") == "=> 'kept'"


@pytest.mark.slow
def test_threads_that_wait_for_each_other_do_not_keep_the_step(kernel: Kernel) -> None:
    code = (
        "import threading\n"
        "one, two = threading.Lock(), threading.Lock()\n"
        "both = threading.Barrier(2)\n"
        "def take(first, second):\n"
        "    with first:\n"
        "        both.wait()\n"
        "        second.acquire()\n"
        "pair = [threading.Thread(target=take, args=each) for each in ((one, two), (two, one))]\n"
        "for each in pair: each.start()\n"
        "pair[0].join()"
    )
    observation = kernel.run(code, timeout=1)
    assert observation.data["ended"] == "timeout"
    assert "[still running in the kernel: " in observation.text
    goes_on(kernel)


@pytest.mark.slow
def test_a_block_that_heeds_no_interrupt_loses_its_kernel(kernel: Kernel) -> None:
    kernel.text("first, second = 1, 2")
    code = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    observation = kernel.run(code, timeout=1)
    assert observation.data["ended"] == "timeout"
    assert "all variables are lost" in observation.text
    assert "first, second" in observation.text
    goes_on(kernel)
    assert "NameError" in kernel.run("first").text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os._exit(7)", "exit status 7"),
        ("import os; os.kill(os.getpid(), 9)", "killed by signal 9"),
        ("import ctypes; ctypes.string_at(0)", "killed by signal 11"),
        ("import os; os.abort()", "killed by signal 6"),
        # The descriptor has the number that it has in the process of the tests, which may hold hundreds.
        ("import os; os.closerange(0, 65536)", "a block closed its connection"),
    ],
    ids=["_exit", "kill", "segfault", "abort", "closed"],
)
def test_a_kernel_that_ends_is_told_of_with_what_is_lost(kernel: Kernel, code: str, said: str) -> None:
    kernel.text("precious = 1")
    observation = kernel.run(code)
    assert observation.data["ended"] == "died"
    assert said in observation.text
    assert "precious" in observation.text
    assert "the next block starts a new kernel" in observation.text
    goes_on(kernel)


@pytest.mark.slow
def test_a_kernel_that_ended_between_blocks_is_told_of_by_the_next(kernel: Kernel) -> None:
    kernel.text(
        "import os, threading\n"
        "go = threading.Event()\n"
        "threading.Thread(target=lambda: (go.wait(), os._exit(0)), daemon=True).start()"
    )
    process = kernel.at.kernel._process  # type: ignore[union-attr]
    assert process is not None
    kernel.run("go.set()")

    async def gone() -> None:
        async with asyncio.timeout(30):
            await process._gone.wait()

    kernel.wait(gone())
    observation = kernel.run("6 * 7")
    assert "=> 42" in observation.text
    goes_on(kernel)


@pytest.mark.slow
def test_ten_gigabytes_are_refused_and_the_state_kept(tmp_path: Path) -> None:
    with Kernel(tmp_path / "shop", memory=1024) as kernel:
        kernel.text("kept = 'kept'")
        observation = kernel.run("held = bytearray(10 << 30)")
        assert "MemoryError" in observation.text
        assert kernel.text("kept") == "=> 'kept'"


@pytest.mark.slow
def test_a_quarter_of_a_gigabyte_of_output_is_bounded(kernel: Kernel) -> None:
    observation = kernel.run(
        "line = 'x' * (1 << 20)\nfor _ in range(256): print(line)\n'printed'", timeout=400
    )
    assert observation.text.endswith("=> 'printed'")
    assert len(observation.text) < 20_000
    assert "only the first 32 MiB of the output were kept" in observation.text
    goes_on(kernel)


@pytest.mark.slow
def test_forks_and_children_that_are_left_do_not_keep_the_step(kernel: Kernel) -> None:
    code = f"import os, time\nif os.fork() == 0:\n    time.sleep({LONG})\nelse:\n    print('parent')"
    observation = kernel.run(code, timeout=60)
    assert observation.text.startswith("ok"), observation.text
    assert "[still running in the kernel: 1 process]" in observation.text
    goes_on(kernel)


@pytest.mark.slow
def test_a_fork_cannot_speak_for_the_kernel(kernel: Kernel) -> None:
    code = (
        "import os\n"
        "inside, outside = os.pipe()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        read('a.txt')\n"
        "    except ToolError as error:\n"
        "        os.write(outside, str(error).encode())\n"
        "    os._exit(0)\n"
        "_ = os.waitpid(child, 0)\n"
        "os.read(inside, 1000).decode()"
    )
    assert "a forked process cannot call tools" in kernel.text(code)
    goes_on(kernel)


def interrupted(kernel: Kernel, code: str) -> list[Observation]:
    """Interrupt the step once the block has made the file `begun`."""
    begun = kernel.at.root / "begun"
    begun.unlink(missing_ok=True)

    async def both() -> Any:
        task = asyncio.create_task(kernel.start(code))
        async with asyncio.timeout(120):
            while not begun.exists():
                await asyncio.sleep(0.01)
        task.cancel()
        return await asyncio.gather(task, return_exceptions=True)

    return kernel.wait(both())  # type: ignore[no-any-return]


def test_an_interrupted_step_keeps_the_state(kernel: Kernel) -> None:
    kernel.text("kept = 'kept'")
    [ended] = interrupted(kernel, "open('begun', 'w').close()\nwhile True: pass")
    assert isinstance(ended, asyncio.CancelledError)
    assert kernel.text("kept") == "=> 'kept'"


def test_an_interrupted_step_leaves_no_output_behind(kernel: Kernel) -> None:
    folder = kernel.at.artifacts.folder
    before = set(folder.iterdir()) if folder.is_dir() else set()
    interrupted(kernel, "print('x' * (4 << 20))\nopen('begun', 'w').close()\nwhile True: pass")
    assert (set(folder.iterdir()) if folder.is_dir() else set()) == before


def test_an_interrupt_in_a_tool_call_ends_the_tool_and_keeps_the_state(kernel: Kernel) -> None:
    kernel.text("kept = 'kept'")
    [ended] = interrupted(kernel, f"after = 0\nshell('touch begun; sleep {LONG}')\nafter = 1")
    assert isinstance(ended, asyncio.CancelledError)
    assert kernel.text("kept, after") == "=> ('kept', 0)"


def test_a_tool_that_ends_the_turn_ends_the_block_and_keeps_the_state(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(action: Action) -> Observation:
        raise UserError(Fault.STORAGE_FULL, "the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(kernel.gateway, "run_nested", full)
        with pytest.raises(UserError, match="the disk is full"):
            kernel.run("after = 0\nread('a.txt')\nafter = 1")
    assert kernel.text("after") == "=> 0"


@pytest.mark.slow
def test_who_asks_and_does_not_listen_is_not_answered_without_end(kernel: Kernel) -> None:
    (kernel.at.root / "long.txt").write_text("a line\n" * 200_000)
    code = (
        "import time\n"
        "channel = read.__globals__['_call'].__self__._channel\n"
        "for _ in range(200):\n"
        "    channel.send({'kind': 'call', 'id': 1, 'tool': 'read', 'arguments': {'path': 'long.txt'}})\n"
        f"time.sleep({LONG})"
    )
    kernel.log.clear()
    assert kernel.run(code, timeout=3).data["ended"] == "timeout"
    assert len([entry for entry in kernel.log if entry[0] == "observation"]) < 10
    kernel.run("None")  # what it did not listen to is still on its way
    goes_on(kernel)


@pytest.mark.slow
def test_a_kernel_killed_in_a_tool_call_ends_the_call_with_it(kernel: Kernel) -> None:
    code = (
        "import os, signal, threading, time\n"
        "def end():\n"
        "    while not os.path.exists('begun'):\n"
        "        time.sleep(0.01)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "threading.Thread(target=end, daemon=True).start()\n"
        f"shell('touch begun; sleep {LONG}')"
    )
    (kernel.at.root / "begun").unlink(missing_ok=True)
    kernel.log.clear()
    observation = kernel.run(code, timeout=LONG)
    assert observation.data["ended"] == "died"
    assert f"killed by signal {int(signal.SIGKILL)}" in observation.text
    asked, answered = (
        [entry[1] for entry in kernel.log if entry[0] == kind] for kind in ("action", "observation")
    )
    assert sorted(asked) == sorted(answered)
    goes_on(kernel)


@pytest.mark.slow
def test_nothing_of_a_kernel_lives_on_after_the_session(tmp_path: Path) -> None:
    with Kernel(tmp_path / "shop") as kernel:
        word = f"left-behind-{os.getpid()}"
        kernel.text(
            f"import subprocess\n_ = subprocess.Popen(['sleep', '{LONG}'], env={{'MARK': '{word}'}})\nNone"
        )
    environments = []
    for each in Path("/proc").glob("[0-9]*/environ"):
        try:
            environments.append(each.read_bytes())
        except OSError:  # it has ended, or is another user's
            continue
    assert not [each for each in environments if word.encode() in each]
