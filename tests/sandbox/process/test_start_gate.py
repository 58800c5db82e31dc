"""Our death while a command starts: at no instant does it leave a process that waits, or a command that runs."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from sandbox.backends import namespace
from sandbox.process import spawn
from sandbox.process.command import Command, Sandbox
from tests.sandbox.boxes import living, make
from tests.support.tracing import fork_process

pytestmark = pytest.mark.slow


def _die(*arguments: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def _stop_leader_and_die(leader: int) -> Iterator[None]:
    """Stand for `watch_group`: die before the watchdog knows the group, which has not got anywhere yet."""
    os.kill(leader, signal.SIGSTOP)
    _die()
    yield


def _die_before_watched() -> None:
    spawn.watch_group = _stop_leader_and_die


def _die_before_limits() -> None:
    namespace._set_limits = _die


def _die_after_opening() -> None:
    spawn.wait_for_exit = _die  # type: ignore[assignment]


def _die_in_start(box: Sandbox, command: Command, patch: Callable[[], None]) -> None:
    """Start the command in a process that dies meanwhile, at the instant that `patch` chooses."""
    child = fork_process()
    if child == 0:
        try:
            patch()
            asyncio.run(box.run(command))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def _wait_until_gone(word: str) -> list[int]:
    """Let stopped processes go on; return those that are left when ten seconds have not ended them."""
    deadline = time.monotonic() + 10
    while (left := living(word)) and time.monotonic() < deadline:
        for each in left:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGCONT)
        time.sleep(0.01)
    return left


@pytest.mark.parametrize(
    ("name", "instant"),
    [
        ("bubblewrap", _die_before_watched),
        ("bubblewrap", _die_before_limits),
        ("bubblewrap", _die_after_opening),
        ("bubblewrap-user", _die_before_watched),
        ("landlock", _die_before_watched),
        ("landlock", _die_after_opening),
    ],
)
def test_our_death_in_a_start_leaves_no_process(
    name: str, instant: Callable[[], None], workspace: Path
) -> None:
    """Of a resident place, see tests/security/test_resident.py."""
    word = f"src/trace-{os.urandom(6).hex()}"
    command = Command(argv=("/bin/sh", "-c", f"echo > src/ran; tail -f {word} src/cart.py"), cwd=workspace)
    _die_in_start(make(name, workspace), command, instant)
    left = _wait_until_gone(word)
    for each in left:
        os.kill(each, signal.SIGKILL)
    assert left == []
    if instant is not _die_after_opening:
        assert not (workspace / "src" / "ran").exists(), "it would run without its limits"
