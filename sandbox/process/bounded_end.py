"""End of the program without waiting for work of its own that nobody waits for any more.

An interrupt or a time limit cancels who awaits a thread, not the thread: it may be storing a snapshot of gigabytes.
Python waits for such threads when a loop is closed, and once more at its exit.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

PATIENCE = 0.1
"""Seconds for work that is nearly done: a file that is being written is complete by then."""

T = TypeVar("T")


class _Leftovers:
    """Whether threads were left at work."""

    exist = False


class _BoundedExecutor(ThreadPoolExecutor):
    """Threads of one loop, which `shutdown` waits for no longer than `PATIENCE`."""

    def __init__(self, threads: int | None) -> None:
        super().__init__(threads, thread_name_prefix="asyncio")
        self._at_work: set[Future[Any]] = set()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future = super().submit(fn, *args, **kwargs)
        self._at_work.add(future)
        future.add_done_callback(self._at_work.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=True)
        if wait and self._wait_briefly():
            _Leftovers.exist = True

    def _wait_briefly(self) -> bool:
        return bool(wait(set(self._at_work), PATIENCE).not_done)


def run_loop(main: Coroutine[Any, Any, T], *, threads: int | None = None) -> T:
    """Run a coroutine like `asyncio.run`; work in threads whose caller was cancelled does not delay the return.

    threads: most that work at once; None for Python's default
    """
    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(_BoundedExecutor(threads))
        return runner.run(main)


def exit_past_leftovers(code: object) -> None:
    """End the process at once if threads were left at work, like a kill, which a session survives at any moment."""
    if _Leftovers.exist:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))
