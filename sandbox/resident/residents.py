"""The resident places of one sandbox: which to start, which to use, and which to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.backends.mount_options import Kind, Mounts, collect_wishes
from sandbox.backends.thread_confinement import KEPT_CAPABILITIES
from sandbox.resident.place import Place, ResidentProcess, start_place
from sandbox.resident.plan import build_place_plan

if TYPE_CHECKING:
    import asyncio

_MOST = 2
"""One for commands that write and one for those that do not: a place takes seven megabytes."""

_MOST_FAILURES = 3
"""A machine on which so many places could not be started has none."""

Key = tuple[object, ...]
"""All that a place depends on."""


class Residents:
    """The places of one sandbox.

    front: bubblewrap and its options but those for mounts
    filter_: the system call filter of commands
    as_root: commands keep the capabilities that root needs in a workspace of another user
    separate_network: each command has a network of its own
    starts_at_once: a command waits for its place; else a place is started beside the second that asks for it
    """

    def __init__(
        self,
        front: Sequence[str],
        *,
        filter_: bytes,
        as_root: bool,
        separate_network: bool,
        starts_at_once: bool,
    ) -> None:
        self._start_place = partial(
            start_place,
            front,
            filter_=filter_,
            kept=KEPT_CAPABILITIES if as_root else 0,
            separate_network=separate_network,
        )
        self._starts_at_once = starts_at_once
        self._places: dict[Key, Place] = {}
        self._asked: list[Key] = []
        self._starting: asyncio.Task[None] | None = None
        self._failures = 0

    async def reserve(self, mounts: Mounts, git_settings: str) -> ResidentProcess | None:
        """Return a process that becomes the next command; None if the command needs a sandbox of its own."""
        command = mounts.command
        alone = command.resident or command.beside or command.descriptors
        if alone or self._failures == _MOST_FAILURES:
            return None
        wishes = collect_wishes(mounts)
        key = (tuple(wishes.items()), mounts.view.links, command.limits.memory, git_settings)
        if (place := self._find(key)) is None:
            if not self._starts_at_once:
                self._start_later(key, mounts, wishes)
                return None
            await self._start(key, mounts, wishes)
            place = self._find(key)
        return await place.reserve() if place and not place.is_busy else None

    def close(self) -> None:
        """End all places."""
        while self._places:
            self._places.popitem()[1].close()

    def _find(self, key: Key) -> Place | None:
        """Return the place; one that has ended is forgotten."""
        place = self._places.pop(key, None)
        if place is None or not (place.is_busy or place.is_usable()):
            return None
        self._places[key] = place  # the last is the one used last
        return place

    def _start_later(self, key: Key, mounts: Mounts, wishes: Mapping[Path, Kind]) -> None:
        """Start a place beside this command, if an earlier one asked for the same."""
        import asyncio

        if key not in self._asked:
            self._asked = [*self._asked[1 - _MOST :], key]
        elif self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start(key, mounts, wishes))

    async def _start(self, key: Key, mounts: Mounts, wishes: Mapping[Path, Kind]) -> None:
        plan = build_place_plan(mounts, wishes, str(key[-1]))
        place = await self._start_place(plan) if plan else None
        if place is None:
            self._failures += 1
            return
        self._places[key] = place
        idle = [each for each, other in self._places.items() if not other.is_busy]
        for each in idle[: max(0, len(self._places) - _MOST)]:
            self._places.pop(each).close()
