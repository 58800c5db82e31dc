"""A process that is killed before one of its system calls: the n-th, whichever that is (Linux, by ptrace)."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress

import pytest

_TRACEME, _SYSCALL, _SETOPTIONS = 0, 24, 0x4200

_OPTIONS = 0x00100000 | 0x1
"""EXITKILL: the traced process dies with us. TRACESYSGOOD: stops at system calls have a signal of their own."""

_AT_CALL = signal.SIGTRAP | 0x80
_REFUSED = 77  # exit status of a child that may not be traced


def killed_before(call: int | None, work: Callable[[], object]) -> int:
    """Run `work` in a forked process and kill it when it enters its system call number `call`, from 0.

    call: None lets it run to its end. Returns how many calls it had entered by then.
    Skips the test where processes cannot be traced. `work` that raises is an AssertionError here.
    """
    if platform.system() != "Linux":
        pytest.skip("ptrace is used as Linux has it")
    libc = ctypes.CDLL(None, use_errno=True)
    ptrace = libc.ptrace
    ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    ptrace.restype = ctypes.c_long
    child = fork_process()
    if child == 0:
        _be_traced(lambda: ptrace(_TRACEME, 0, None, None), work)
    try:
        return _follow(ptrace, child, call)
    finally:
        _reap(child)


def forked(work: Callable[[], object]) -> None:
    """Run `work` in a forked process, which may end itself at any point; it fails here if it raises."""
    child = fork_process()
    if child == 0:
        _work(work)
    assert os.waitpid(child, 0)[1] == 0, _FAILED


_FAILED = "the forked work failed; its traceback is on stderr"


def fork_process() -> int:
    """Return as `os.fork` does."""
    with (
        warnings.catch_warnings()
    ):  # Python 3.12 warns of threads, which a test runner may have: ours are idle
        warnings.simplefilter("ignore", DeprecationWarning)
        sys.stderr.flush()
        return os.fork()


def _be_traced(ask: Callable[[], int], work: Callable[[], object]) -> None:
    """The child: stop, so that the parent can take over, then work. Never returns."""

    def stopped_first() -> None:
        if ask() != 0:
            os._exit(_REFUSED)
        os.kill(os.getpid(), signal.SIGSTOP)
        work()

    _work(stopped_first)


def _work(work: Callable[[], object]) -> None:
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # whatever it is, it must not run on as a second test session
        traceback.print_exc()
    finally:
        os._exit(status)


def _follow(ptrace: Callable[..., int], child: int, last: int | None) -> int:
    calls, entering, signal_to_pass, first = 0, True, 0, True
    while True:
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            if os.WEXITSTATUS(status) == _REFUSED:
                pytest.skip("the system does not let processes be traced")
            assert os.WEXITSTATUS(status) == 0, _FAILED
            return calls
        assert os.WIFSTOPPED(status), f"ended by signal {os.WTERMSIG(status)}"
        stopped_by, signal_to_pass = os.WSTOPSIG(status), 0
        if first:
            _do(ptrace(_SETOPTIONS, child, None, _OPTIONS))
            first = False
        elif stopped_by == _AT_CALL:
            if entering and calls == last:
                return calls
            calls += entering
            entering = not entering
        else:
            signal_to_pass = stopped_by
        _do(ptrace(_SYSCALL, child, None, signal_to_pass))


def _do(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _reap(child: int) -> None:
    with suppress(ChildProcessError):  # it has ended, and was waited for, already
        os.waitpid(child, os.WNOHANG)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
