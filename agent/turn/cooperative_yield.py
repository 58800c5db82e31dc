"""Lets the event loop do something else while a stream always has more: keys, redraws, signals."""

from __future__ import annotations

import asyncio
import time

PAUSE = 0.005
"""Seconds of uninterrupted work at most: a person notices some 20 ms."""


class YieldTimer:
    """Counts from the last pause."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    async def yield_if_due(self) -> None:
        """Give way, if it is time."""
        if time.monotonic() - self._last > PAUSE:
            await asyncio.sleep(0)
            self._last = time.monotonic()
