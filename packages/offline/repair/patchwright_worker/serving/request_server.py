"""Server: read candidates from a pipe, run each through its stages, send the results."""

from __future__ import annotations

import json
import os
import resource
import select
import time
from typing import TYPE_CHECKING, Optional, Union

from ..process.child_process import Child
from .screening import Screening

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..process.json_lines import Json, Send

# Number of endless tests of a probe before the others are skipped.
MOST_HUNG = 1


class Trial:
    """One candidate in its stages, each in a child of its own, from fresh state."""

    def __init__(self, request: Json) -> None:
        self.request = request
        self.stage = 0
        self.reply: Json = {
            "kind": "tried",
            "id": request["id"],
            "verdict": "",
            "passed": [],
            "failed": [],
            "skipped": [],
            "cpu": 0.0,
        }
        self.started = time.monotonic()
        self._running: int | None = None
        self._over = False

    @property
    def patience(self) -> float:
        """Wall seconds until the first test must have begun."""
        return float(self.request.get("start", 10.0))

    def work(self, how: Any) -> Callable[[Send], None]:
        work: Callable[[Send], None] = how.work(self.request, self.request["stages"][self.stage])
        return work

    def handle_message(self, child: Child, message: Json) -> None:
        if message["kind"] == "start":
            self._running = message["test"]
            child.extend_deadline(message["wall"])
        elif message["kind"] == "test":
            self._running = None
            kind = message["outcome"] if message["outcome"] in ("passed", "skipped") else "failed"
            self.reply[kind].append(message["test"])
            if message["outcome"] == "timeout":
                self.reply["verdict"] = "timeout"
        elif message["kind"] == "watch":
            self._over = True  # further messages can only report that a test is skipped
            child.extend_deadline(message["wall"])
        elif message["kind"] == "collected":
            self.reply["collected"] = message["ids"]
        elif message["kind"] == "over":
            self._over = True
        else:
            self.reply["verdict"] = message["verdict"]

    def handle_child_end(self, killed: bool) -> bool:
        """Record how the child ended; return True when there is another stage to run."""
        reply, stage = self.reply, self.request["stages"][self.stage]
        if not self._over and not reply["verdict"]:
            reply["verdict"] = "timeout" if killed else "crashed"
            if self._running is not None:
                reply["failed"].append(self._running)
        good = not reply["verdict"] and (
            not reply["failed"] or (stage["stop"] in ("unless-some", "never") and reply["passed"])
        )
        # In a whole suite tests may be skipped that were not run before, or are skipped without the candidate
        # too.
        known = {*stage["must"], *stage["watch"]} if stage["stop"] == "whole" else reply["skipped"]
        good = good and not set(reply["skipped"]) & set(known)
        self._over, self._running = False, None
        if good and stage["stop"] == "never":
            reply["failed"] = []  # may still fail: the other stages must pass
        if good and self.stage + 1 < len(self.request["stages"]):
            self.stage += 1
            return True
        reply["verdict"] = reply["verdict"] or ("passed" if good else "failed")
        reply["stage"] = self.stage
        reply["seconds"] = round(time.monotonic() - self.started, 4)
        return False


class Probe:
    """A probe of a candidate: outcome of each test with it, and the lines that it runs."""

    patience = 10.0

    def __init__(self, request: Json) -> None:
        self.request = request
        self.reply: Json = {"kind": "probed", "id": request["id"], "tests": {}, "verdict": "", "cpu": 0.0}
        self.started = time.monotonic()
        self._rest: list[int] = list(request["probe"])
        self._over = False
        self._hung = 0

    def work(self, how: Any) -> Callable[[Send], None]:
        work: Callable[[Send], None] = how.probe(self.request, list(self._rest))
        self._over = False
        return work

    def handle_message(self, child: Child, message: Json) -> None:
        if message["kind"] == "start":
            child.extend_deadline(message["wall"])
            self._rest.remove(message["test"])
        elif message["kind"] == "test":
            self.reply["tests"][message["test"]] = message
        elif message["kind"] == "over":
            self._over = True
        else:
            self.reply["verdict"] = message["verdict"]

    def handle_child_end(self, killed: bool) -> bool:
        """Return True when tests remain after an endless one."""
        self._hung += 1
        again = not self._over and not self.reply["verdict"] and bool(self._rest) and self._hung < MOST_HUNG
        if not again:
            self.reply["seconds"] = round(time.monotonic() - self.started, 4)
        return again


def measure_cpu_seconds() -> float:
    """Return CPU seconds of this process and all children that have ended."""
    both = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return round(sum(each.ru_utime + each.ru_stime for each in both), 3)


Request = Union[Trial, Screening, Probe]


class RequestServer:
    """Reads requests, keeps `jobs` children busy, replies in the order in which trials end."""

    def __init__(
        self, requests: int, send: Send, config: Json, how: Any, other: Optional[int] = None
    ) -> None:
        """other: a pipe that closes when the other mode's server ends, which that one may be unable to report"""
        self._requests, self.send, self.config, self._how = requests, send, config, how
        self._other = other
        self._jobs: int = config["jobs"]
        self._buffer = b""
        self._open = True
        self._queue: list[Request] = []
        self._children: list[tuple[Child, Request]] = []

    def serve(self) -> None:
        """Serve until the client closes the pipe: it has ended then, and so does the server."""
        try:
            while self._open:
                while self._queue and len(self._children) < self._jobs:
                    self._start_child(self._queue.pop(0))
                self._process_ready()
        finally:
            for child, _ in self._children:
                child.kill()

    def _start_child(self, trial: Request) -> None:
        holder: list[Child] = []
        child = Child(
            trial.work(self._how), lambda message: trial.handle_message(holder[0], message), trial.patience
        )
        holder.append(child)
        self._children.append((child, trial))

    def _process_ready(self) -> None:
        descriptors = [self._requests, *(child.descriptor for child, _ in self._children)]
        if self._other is not None:
            descriptors.append(self._other)
        soonest = min((child.deadline for child, _ in self._children), default=time.monotonic() + 3600)
        ready = select.select(descriptors, [], [], max(0.0, soonest - time.monotonic()))[0]
        if self._requests in ready:
            self._read_requests()
        if self._other in ready:
            self._other = None
            self.send({"kind": "ended"})
        now = time.monotonic()
        for pair in list(self._children):
            child, trial = pair
            alive = child.read_messages() if child.descriptor in ready else True
            child.killed = alive and now > child.deadline
            if alive and not child.killed:
                continue
            child.kill()
            trial.reply["cpu"] += child.cpu
            self._children.remove(pair)
            if trial.handle_child_end(child.killed):
                self._queue.insert(0, trial)
            else:
                self.send({**trial.reply, "spent": measure_cpu_seconds()})

    def _read_requests(self) -> None:
        data = os.read(self._requests, 1 << 16)
        self._open = bool(data)
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        for message in map(json.loads, lines):
            if "screen" in message:
                self._queue.append(Screening(message))
            elif "probe" in message:
                self._queue.append(Probe(message))
            elif "id" in message:
                # One that passed the screening goes before those that wait for it.
                place = sum(isinstance(each, Trial) for each in self._queue)
                self._queue.insert(place, Trial(message))
            else:
                self._how.learn(message)
