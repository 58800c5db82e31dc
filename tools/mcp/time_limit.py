"""A time limit that a question to a person stops."""

from __future__ import annotations

import asyncio
from types import TracebackType


class TimeLimit:
    """Raise TimeoutError in a block that takes longer than `seconds`, without the time between pauses and resumes."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._pauses = 0
        self._timeout = asyncio.timeout(seconds)

    def pause(self) -> None:
        """Stop the clock; pauses nest."""
        self._pauses += 1
        when = self._timeout.when()
        if self._pauses == 1 and when is not None and not self._timeout.expired():
            self._left = when - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def resume(self) -> None:
        """Let the clock run on, once for each pause."""
        self._pauses = max(0, self._pauses - 1)
        if self._pauses == 0 and self._timeout.when() is None and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)

    async def __aenter__(self) -> TimeLimit:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._timeout.__aexit__(kind, error, trace)
