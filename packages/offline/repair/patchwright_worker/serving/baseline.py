"""Baseline of the tests before any patch: outcomes, coverage, durations; endless and unsteady tests."""

from __future__ import annotations

import itertools
import json
import os
import select
import time
from typing import TYPE_CHECKING

from ..process.child_process import Child, CpuLimit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..frameworks.framework_runners import Suite
    from ..process.json_lines import Json, Send
    from .trial_modes import Warm

# CPU seconds after which a further test counts as endless, when passing tests are quick.
SHORT = 0.05
# CPU seconds for a test that has run no line of the project yet: a library may prepare its tables first.
PREPARING = 15.0
# Number of tests from which the time may not be enough for all.
MANY = 1000


class ChildStream:
    """One run of tests in a series of children: each continues after the test at which the one before ended.

    work: work of a child for the remaining tests
    note: is called with each record
    """

    def __init__(
        self,
        run: str,
        indexes: Sequence[int],
        work: Callable[[Sequence[int], Send], None],
        note: Callable[[str, Json], None],
    ) -> None:
        self.run, self.rest = run, list(indexes)
        self._work, self._note = work, note

    @property
    def deadline(self) -> float:
        return self._child.deadline

    @property
    def descriptor(self) -> int:
        return self._child.descriptor

    def start_child(self) -> bool:
        """Start a child for the remaining tests; return False when there are none."""
        if not self.rest:
            return False
        rest, self._done, self._running = tuple(self.rest), -1, -1
        self._child = Child(lambda send: self._work(rest, send), self._handle_message, seconds=30.0)
        return True

    def start_next_child(self) -> bool:
        """Finish the child, and start the next one; return False when all is done, or children make no progress."""
        self.kill_child()
        if self._running >= 0:
            lost = {"test": self._running, "outcome": "crashed", "lines": {}, "cpu": 0, "wall": 0}
            self._note(self.run, {"kind": "test", **lost})
            self._done = self._running
        self.rest = [index for index in self.rest if index > self._done] if self._done >= 0 else []
        return self.start_child()

    def is_over(self, ready: Sequence[int]) -> bool:
        """Return whether the child has ended or exceeded its time; ready: descriptors that can be read."""
        if self._child.descriptor in ready:
            return not self._child.read_messages()
        return time.monotonic() >= self._child.deadline

    def kill_child(self) -> None:
        self._child.kill()

    def _handle_message(self, message: Json) -> None:
        if message["kind"] == "start":
            self._running = message["test"]
            self._child.extend_deadline(message["wall"])
        elif message["kind"] == "test":
            self._done, self._running = message["test"], -1
            self._note(self.run, message)


class Baseline:
    """The baseline: every test traced, and run plainly too; a test that hangs or crashes is skipped.

    Records go to a file of JSON lines: there are many, and no process waits for a single one.
    """

    def __init__(self, warm: Warm, suite: Suite, config: Json) -> None:
        self._warm, self._config = warm, config
        self._count = len(suite.ids)
        self._deadline = time.monotonic() + config["trace_seconds"]
        self._limit: float = config["slow_seconds"]
        self._hangs: list[int] = []
        # Those of them that ran no line of the project before their time was over.
        self._unbegun: set[int] = set()
        # Outcomes of tests, by run and index.
        self._outcomes: dict[str, dict[int, str]] = {}
        # CPU seconds, by run.
        self._spent: dict[str, float] = {}
        self._slowest = 0.0

    def run(self) -> None:
        with open(self._config["records"], "w", encoding="utf-8") as self._file:
            self._run_all_tests()
            failed = self._list_failed()
            if self._config["check"]:
                self._run_streams(self._create_stream("alone", failed, self._create_check_work(self._limit)))
            if self._config.get("why") and failed:
                names = self._config["why"]
                index = min(failed, key=lambda each: (self._warm.suite.ids[each] not in names, each))
                limit = CpuLimit(self._limit * 5)
                self._run_streams(
                    self._create_stream(
                        "why", [index], lambda rest, send: self._warm.explain_failure(rest, limit, send)
                    )
                )
            # Slow, or endless? The first endless one decides for those after it.
            slow = list(itertools.takewhile(self._is_slow, self._hangs))
            if slow:
                self._hangs = [each for each in self._hangs if each not in slow]
                self._limit = self._config["trace_seconds"] / 4
                self._run_streams(self._create_stream("trace", sorted(slow), self._trace_tests))

    def _run_all_tests(self) -> None:
        """Run both in parallel if there are processors for it; else the second if the first has left time for it."""
        traces = [self._create_stream("trace", indexes, self._trace_tests) for indexes in self._order_tests()]
        checks = (
            [self._create_stream("check", range(self._count), self._check_tests)]
            if self._config["check"]
            else []
        )
        if (os.cpu_count() or 1) > 1:
            beside = [each for each in checks if each.start_child()]  # the code is instrumented meanwhile
            self._warm.instrument()
            self._run_streams(*traces, beside=beside)
            return
        started = time.monotonic()
        self._warm.instrument()
        self._run_streams(*traces)
        if 2 * time.monotonic() - started < self._deadline:
            self._run_streams(*checks)

    def _is_slow(self, index: int) -> bool:
        """Return whether a test that did not end when traced ends plainly, with twice the time of all others."""
        plainly = self._outcomes.get("check", {}).get(index)
        if plainly in ("passed", "failed"):
            self._record_result(
                "slow", {"kind": "test", "test": index, "outcome": plainly, "cpu": 0, "wall": 0}
            )
            return True
        patience = max(self._limit, 2 * self._spent.get("trace", 0.0))
        if index in self._unbegun:
            patience = max(patience, PREPARING)
        if patience == self._limit and (plainly is not None or self._warm.traces_quickly):
            return False  # it had so much already
        self._run_streams(self._create_stream("slow", [index], self._create_check_work(patience)))
        return self._outcomes.get("slow", {}).get(index) in ("passed", "failed")

    def _list_failed(self) -> list[int]:
        return [index for index, outcome in self._outcomes.get("trace", {}).items() if outcome == "failed"]

    def _order_tests(self) -> list[list[int]]:
        """Return all tests in their order; of very many the named ones first, since the time may not suffice
        for all."""
        every = list(range(self._count))
        if self._count < MANY:
            return [every]
        names = frozenset(self._config.get("named", ()))
        named = {index for index in every if self._warm.suite.ids[index] in names}
        return [sorted(named), [index for index in every if index not in named]]

    def _trace_tests(self, rest: Sequence[int], send: Send) -> None:
        self._warm.trace_original(rest, self._compute_limit("trace"), send)

    def _check_tests(self, rest: Sequence[int], send: Send) -> None:
        self._warm.check_tests(rest, self._compute_limit("check"), send)

    def _create_check_work(self, limit: float) -> Callable[[Sequence[int], Send], None]:
        return lambda rest, send: self._warm.check_tests(rest, CpuLimit(limit), send)

    def _compute_limit(self, run: str) -> CpuLimit:
        """One test may take as long as all before it did: so a suite of slow tests has time for them.

        Once a test hangs, the others that hang need not prove it as long as they far outlast those that pass.
        """
        spent = self._spent.get(run, 0.0)
        if self._hangs:
            return CpuLimit(min(self._limit, max(SHORT, 20 * self._slowest, spent / 10)))
        return CpuLimit(self._limit, spent)

    def _create_stream(
        self, run: str, indexes: Sequence[int], work: Callable[[Sequence[int], Send], None]
    ) -> ChildStream:
        return ChildStream(run, indexes, work, self._record_result)

    def _run_streams(self, *streams: ChildStream, beside: Sequence[ChildStream] = ()) -> None:
        """Run streams one after the other, in parallel with those in `beside`, which were started already."""
        waiting = list(streams)
        going = [*beside, *self._start_next(waiting)]
        while going:
            now = time.monotonic()
            until = min([self._deadline, *[each.deadline for each in going]])
            ready = select.select([each.descriptor for each in going], [], [], max(0.0, until - now))[0]
            if time.monotonic() >= self._deadline:  # the outcome of the running tests is unknown
                for each in going:
                    each.kill_child()
                return
            for each in list(going):
                if each.is_over(ready) and not each.start_next_child():
                    going.remove(each)
                    going += self._start_next(waiting) if each not in beside else []

    def _start_next(self, waiting: list[ChildStream]) -> list[ChildStream]:
        while waiting and time.monotonic() < self._deadline:
            stream = waiting.pop(0)
            if stream.start_child():
                return [stream]
        return []

    def _record_result(self, run: str, message: Json) -> None:
        outcome = message["outcome"]
        self._outcomes.setdefault(run, {})[message["test"]] = outcome
        if run == "check" and outcome == "timeout":  # it may have had too little time
            return
        self._warm.name_frames(message)
        self._file.write(json.dumps({**message, "run": run}) + "\n")
        if outcome in ("passed", "failed", "skipped"):
            self._spent[run] = self._spent.get(run, 0.0) + message.get("cpu", 0.0)
        if run != "trace":
            return
        if outcome in ("timeout", "crashed"):
            self._hangs.append(message["test"])
            if not message["lines"]:
                self._unbegun.add(message["test"])
        elif outcome != "failed":
            self._slowest = max(self._slowest, message["cpu"])
