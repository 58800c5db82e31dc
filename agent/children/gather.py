"""Waiting for several child sessions at once, so that none outlives an interruption or a failure of another."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

Result = TypeVar("Result")


async def gather_all(awaited: Sequence[Awaitable[Result]]) -> list[Result]:
    """Wait for all; where one fails, or the turn is interrupted, the others are cancelled and end first."""
    tasks = [asyncio.ensure_future(each) for each in awaited]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            if not task.cancelling():  # a second cancellation would cut off its cleaning up
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
