"""Waiting for child sessions, so that none outlives an interruption or a failure of another."""

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


async def finish_anyway(task: asyncio.Task[Result]) -> Result:
    """Wait for a task to its end, also when the caller is cancelled meanwhile; that is raised afterwards."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()
