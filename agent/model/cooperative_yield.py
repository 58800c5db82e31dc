"""Cooperative yields to the event loop (keys, redraws, signals) while a stream always has data."""

from __future__ import annotations

import asyncio
import time

PAUSE = 0.005
"""Maximum seconds of uninterrupted work: people notice some 20 ms."""


class YieldTimer:
    """Measures the time since the last yield."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    async def yield_if_due(self) -> None:
        """Yield to the event loop if PAUSE has passed."""
        if time.monotonic() - self._last > PAUSE:
            await asyncio.sleep(0)
            self._last = time.monotonic()
