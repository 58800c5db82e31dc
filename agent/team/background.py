"""Agents in the background: they work while their session goes on; their reports wait until somebody takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

from agent.team.report import Report
from tools.core.action import Observation

Finish = Callable[[str, Report], Awaitable[Report | None]]
"""Brings in what an agent reports, at a point where the session's files may change; None if it works on first."""


class BackgroundAgents:
    """The agents of one session that work in the background, by the ids of their sessions.

    finish: see `Finish`; build: returns a report as an observation; get_name: returns the name of an agent
    """

    def __init__(
        self, finish: Finish, build: Callable[[Report], Observation], get_name: Callable[[str], str]
    ) -> None:
        self._finish = finish
        self._build = build
        self._get_name = get_name
        self._tasks: dict[str, asyncio.Task[Report]] = {}
        self._arrived: list[str] = []
        self._delivered: set[str] = set()
        self._delivering = asyncio.Lock()
        self._closing = False

    @property
    def unheard(self) -> list[str]:
        """Names of agents whose reports the model has not got yet."""
        return [self._get_name(each) for each in self._tasks if each not in self._delivered]

    @property
    def arrived_names(self) -> list[str]:
        """Names of agents whose reports wait to be taken."""
        return [self._get_name(each) for each in self._arrived]

    def add(self, child: str, work: Coroutine[object, object, Report]) -> None:
        """Let an agent work."""
        running = asyncio.create_task(work, name=f"agent {self._get_name(child)}")
        self._tasks[child] = running
        self._delivered.discard(child)
        running.add_done_callback(lambda done: self._handle_arrival(child, done))

    def is_known(self, child: str) -> bool:
        """Whether an agent works in the background, or has reported from there last."""
        return child in self._tasks

    def is_working(self, child: str) -> bool:
        """Whether an agent is at work in the background."""
        return child in self._tasks and not self._tasks[child].done()

    def is_delivered(self, child: str) -> bool:
        """Whether the last report of an agent in the background was taken."""
        return child in self._delivered

    def forget(self, child: str) -> None:
        """Forget an agent that gets its next task."""
        self._tasks.pop(child, None)

    async def take_reports(self) -> list[Observation]:
        """Bring in what has arrived since the last call, in its order, and return the reports."""
        found = []
        for child in list(self._arrived):
            observation = await self._deliver(child)
            if observation is None:
                told = f"{self._get_name(child)} has reported, but works on: its changes meet yours."
                observation = Observation(text=told)
            found.append(observation)
        return found

    async def wait_for(self, child: str) -> Observation:
        """Wait for the report of an agent, and bring in its work."""
        while True:
            await asyncio.wait([self._tasks[child]])
            if (observation := await self._deliver(child)) is not None:
                return observation

    async def close(self) -> None:
        """End all agents; what has arrived and was not taken is not brought in."""
        self._closing = True
        waiting = [each for each in self._tasks.values() if not each.done()]
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    def _handle_arrival(self, child: str, done: asyncio.Task[Report]) -> None:
        if done.cancelled():
            return
        done.exception()  # taken with the report
        if not self._closing:
            self._arrived.append(child)

    async def _deliver(self, child: str) -> Observation | None:
        """Bring in the work of an agent that has reported; None if it has to work on."""
        async with self._delivering:  # two calls may wait for one agent
            done = self._tasks[child]
            if not done.done():
                return None
            observation = await self._finish_task(child, done)
            self._forget_arrival(child)
            if observation is not None:
                self._delivered.add(child)
            return observation

    async def _finish_task(self, child: str, done: asyncio.Task[Report]) -> Observation | None:
        name = self._get_name(child)
        if done.cancelled():
            return Observation(text=f"{name}: ended with the session", failed=True)
        if (error := done.exception()) is not None:
            return Observation(text=f"{name}: {error}", failed=True)
        report = done.result()
        if child in self._delivered:  # what is asked for again is not brought in again
            return self._build(report)
        finished = await self._finish(child, report)
        return None if finished is None else self._build(finished)

    def _forget_arrival(self, child: str) -> None:
        self._arrived = [each for each in self._arrived if each != child]
