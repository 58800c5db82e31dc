"""How the tests stand before any patch: outcomes, coverage, durations; what hangs or is not steady."""

from __future__ import annotations

import json
import select
import time
from typing import TYPE_CHECKING

from .children import Child

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .frameworks import Suite
    from .modes import Warm
    from .wire import Json, Send

# CPU seconds after which a test is taken for one more that hangs, when passing tests are quick.
SHORT = 0.05
# So many tests may take longer than there is time for.
MANY = 1000


class Baseline:
    """The baseline: every test traced, then run again plainly; what hangs or crashes is left behind.

    Records go to a file of JSON lines: they are many, and nothing waits for the single one.
    """

    def __init__(self, warm: Warm, suite: Suite, config: Json) -> None:
        self._warm, self._config = warm, config
        self._count = len(suite.ids)
        self._deadline = time.monotonic() + config["trace_seconds"]
        self._limit: float = config["test_seconds"]
        self._hangs: list[int] = []
        self._failed: list[int] = []
        self._slowest = 0.0
        self._slow_one_ended = False

    def run(self) -> None:
        with open(self._config["records"], "w", encoding="utf-8") as self._file:
            started = time.monotonic()
            for indexes in self._in_turn():
                self._follow("trace", indexes, lambda rest: lambda send: self._trace(rest, send))
            spent = time.monotonic() - started
            if self._config["check"] and time.monotonic() + spent < self._deadline:
                steady = [i for i in range(self._count) if i not in self._hangs]
                self._follow("check", steady, self._checking(self._limit))
                self._follow("alone", self._failed, self._checking(self._limit))
            if self._config.get("why") and self._failed:
                names = self._config["why"]
                index = min(self._failed, key=lambda each: (self._warm.suite.ids[each] not in names, each))
                self._follow(
                    "why", [index], lambda rest: lambda send: self._warm.explain(rest, self._limit * 5, send)
                )
            for index in self._hangs[:1]:  # slow, or without end? one answer stands for all
                self._follow("slow", [index], self._checking(self._config["slow_seconds"]))
                if self._slow_one_ended:
                    waiting, self._hangs = self._hangs, []
                    self._limit = self._config["trace_seconds"] / 4
                    for each in waiting:
                        self._follow("trace", [each], lambda rest: lambda send: self._trace(rest, send, 1))

    def _in_turn(self) -> list[list[int]]:
        """All tests in their order; of very many those first that are named, since there may be no time for all."""
        every = list(range(self._count))
        if self._count < MANY:
            return [every]
        names = frozenset(self._config.get("named", ()))
        named = {index for index in every if self._warm.suite.ids[index] in names}
        return [sorted(named), [index for index in every if index not in named]]

    def _trace(self, rest: Sequence[int], send: Send, count: int | None = None) -> None:
        """Once a test hangs, the others that hang need not prove it as long as they far outlast those that pass."""
        limit = min(self._limit, max(SHORT, 20 * self._slowest)) if self._hangs else self._limit
        self._warm.trace(rest[:count], limit, send)

    def _checking(self, limit: float) -> Callable[[Sequence[int]], Callable[[Send], None]]:
        return lambda rest: lambda send: self._warm.check(rest, limit, send)

    def _follow(
        self, run: str, indexes: Sequence[int], work: Callable[[Sequence[int]], Callable[[Send], None]]
    ) -> None:
        rest = list(indexes)
        while rest and time.monotonic() < self._deadline:
            done, running = self._child(run, work(rest))
            if time.monotonic() >= self._deadline:
                return  # nobody knows how the running test would have ended
            if running is not None:
                self._note(
                    run,
                    {"kind": "test", "test": running, "outcome": "crashed", "lines": {}, "cpu": 0, "wall": 0},
                )
                done = running
            if done is None:
                break
            rest = [index for index in rest if index > done]

    def _child(self, run: str, work: Callable[[Send], None]) -> tuple[int | None, int | None]:
        """The last test that ended, and the one that was running when the child went down."""
        state: dict[str, int | None] = {"done": None, "running": None}
        holder: list[Child] = []

        def line(message: Json) -> None:
            if message["kind"] == "start":
                state["running"] = message["test"]
                holder[0].allow(message["wall"])
            elif message["kind"] == "test":
                state.update(done=message["test"], running=None)
                self._note(run, message)

        child = Child(work, line, seconds=30.0)
        holder.append(child)
        while True:
            patience = min(child.deadline, self._deadline) - time.monotonic()
            if (
                patience <= 0
                or not select.select([child.descriptor], [], [], patience)[0]
                or not child.read()
            ):
                break
        child.end()
        return state["done"], state["running"]

    def _note(self, run: str, message: Json) -> None:
        self._warm.name_frames(message)
        self._file.write(json.dumps({**message, "run": run}) + "\n")
        if run == "slow":
            self._slow_one_ended = message["outcome"] in ("passed", "failed")
        if run != "trace":
            return
        if message["outcome"] in ("timeout", "crashed"):
            self._hangs.append(message["test"])
        elif message["outcome"] == "failed":
            self._failed.append(message["test"])
        else:
            self._slowest = max(self._slowest, message["cpu"])
