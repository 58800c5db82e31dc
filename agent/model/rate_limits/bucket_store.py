"""Buckets that calls pass before they are sent: those of this process, or shared by the processes of this machine."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import uniform
from typing import Protocol

from agent.model.rate_limits.token_bucket import Charge, TokenBuckets, decode_levels
from sandbox.fs.private_files import create_private_folder, open_private

OnWait = Callable[[float], None]
"""Receives the seconds of each wait before it begins."""

_BUSY = 0.01
"""Seconds until the file is tried again: others hold it for less than a millisecond."""

_LONGEST = 5.0
"""Seconds between two looks: others may have given back meanwhile."""

_MOST_BYTES = 1 << 20
"""Of the file: one of some thousand limits. More is not ours."""


class BucketStore(Protocol):
    """Buckets of one scope. Waiting keeps nothing from others, so that one that is killed meanwhile leaves nothing."""

    async def take(self, charge: Charge, on_wait: OnWait) -> None:
        """Wait until a call may be sent, and take it. Cancelling takes nothing."""
        ...

    def correct(self, charge: Charge, tokens: int) -> None:
        """Count tokens that a call has used beyond its estimate, below zero those that it has not used."""
        ...


class ProcessBuckets:
    """Buckets of this process. Implements `BucketStore`."""

    def __init__(self) -> None:
        self._buckets = TokenBuckets()

    async def take(self, charge: Charge, on_wait: OnWait) -> None:
        while wait := self._buckets.take(charge, time.time()):
            on_wait(wait)
            await _pause(wait)

    def correct(self, charge: Charge, tokens: int) -> None:
        self._buckets.correct(charge, tokens, time.time())


class MachineBuckets:
    """Buckets of all processes of a user on this machine, in a file under a lock. Implements `BucketStore`.

    The kernel releases the lock of a killed process. Where no file can be written or locked, each process has buckets
    of its own.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "buckets.json"
        self._own: ProcessBuckets | None = None
        self._uncounted: list[tuple[Charge, int]] = []
        try:
            create_private_folder(folder)
        except OSError:
            self._own = ProcessBuckets()

    async def take(self, charge: Charge, on_wait: OnWait) -> None:
        while self._own is None:
            try:
                wait = self._change(lambda buckets: buckets.take(charge, time.time()))
            except BlockingIOError:
                await asyncio.sleep(_BUSY * uniform(0.5, 1.5))
                continue
            except OSError:
                self._own = ProcessBuckets()
                break
            if not wait:
                return
            on_wait(wait)
            await _pause(wait)
        await self._own.take(charge, on_wait)

    def correct(self, charge: Charge, tokens: int) -> None:
        if self._own is not None:
            self._own.correct(charge, tokens)
            return
        self._uncounted.append((charge, tokens))
        with suppress(OSError):  # counted with the next call of this process
            self._change(lambda buckets: 0.0)

    def _change(self, change: Callable[[TokenBuckets], float]) -> float:
        """Change the buckets. Raises BlockingIOError while another process does, and OSError."""
        descriptor = open_private(str(self._file), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            before = os.pread(descriptor, _MOST_BYTES, 0)
            buckets = TokenBuckets(_parse_levels(before))
            for charge, tokens in self._uncounted:
                buckets.correct(charge, tokens, time.time())
            self._uncounted.clear()
            answer = change(buckets)
            # In one write that covers all there was: a kill leaves the one or the other.
            os.pwrite(descriptor, json.dumps(buckets.levels).encode().ljust(len(before)), 0)
            return answer
        finally:
            os.close(descriptor)


def _parse_levels(content: bytes) -> dict[str, list[float]]:
    """Return the levels in a file; where it has none, as a new one, the buckets are full."""
    try:
        return decode_levels(json.loads(content or b"{}"))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


async def _pause(seconds: float) -> None:
    """Wait; not all waiters come back at the same moment."""
    await asyncio.sleep(min(seconds * uniform(1.0, 1.1), _LONGEST))
