"""Clocks that stop while a call waits for its turn under a rate limit: who times a session says so for its calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import ContextVar

Pause = Callable[[], AbstractContextManager[None]]

_PAUSE: ContextVar[Pause] = ContextVar("queue_pause", default=nullcontext)


def pause_clocks() -> AbstractContextManager[None]:
    """Return a context for the wait of one call, in which the clocks of its task do not run."""
    return _PAUSE.get()()


@contextmanager
def stop_clock_while_queued(pause: Pause) -> Iterator[None]:
    """Enter `pause` beside the pauses around this one whenever a call of the tasks begun inside waits.

    Several calls may wait at once.
    """
    outer = _PAUSE.get()

    @contextmanager
    def pause_both() -> Iterator[None]:
        with outer(), pause():
            yield

    token = _PAUSE.set(pause_both)
    try:
        yield
    finally:
        _PAUSE.reset(token)


@asynccontextmanager
async def limit_unqueued_seconds(seconds: float) -> AsyncIterator[None]:
    """Raise TimeoutError after so many seconds in which no call inside waited for its turn."""
    loop = asyncio.get_running_loop()
    waiting = 0
    left = seconds

    async with asyncio.timeout(seconds) as limit:

        @contextmanager
        def pause() -> Iterator[None]:
            nonlocal waiting, left
            if not waiting:
                left = (limit.when() or loop.time()) - loop.time()
                with suppress(RuntimeError):  # it is over: a task that was begun inside goes on
                    limit.reschedule(None)
            waiting += 1
            try:
                yield
            finally:
                waiting -= 1
                if not waiting:
                    with suppress(RuntimeError):
                        limit.reschedule(loop.time() + left)

        with stop_clock_while_queued(pause):
            yield
