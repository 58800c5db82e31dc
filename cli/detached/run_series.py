"""Runs of the same task one after the other, on time or on change, within limits on their number and cost."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal, Protocol

from agent.exit_codes import Exit
from agent.session.usage_report import UsageReport
from cli.detached.launch import Started, start_detached
from cli.detached.log_tail import LogTail
from cli.detached.run_record import send_signal
from cli.detached.run_state import read_last_end
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass

Overlap = Literal["skip", "queue", "stop"]
"""For a run that is due while another one runs: it is left out, comes after it, or takes its place."""

INTERVAL = 0.2
"""Seconds between two looks at the clock, the files and the run."""


class Trigger(Protocol):
    """Says when a run is due."""

    def is_due(self, session: Path | None) -> bool:
        """Whether a run is due now. session: folder of the run that is at work, None if there is none"""
        ...

    def end_run(self, session: Path) -> bool:
        """Handle the end of a run; return whether another one is due."""
        ...

    def format_prompt(self, prompt: str) -> str:
        """Return the prompt of the run that begins now."""
        ...


@dataclass(slots=True, kw_only=True)
class RunSeries:
    """One run at a time, each a detached session of its own, so that it is listed, attached to and asked like others.

    options: of `patchwright run`; tell: prints a line
    begun: printed once signals end the series, not the process
    find: returns the folder of a session by its id; max_cost: dollars of all runs together
    """

    options: Sequence[str]
    prompt: str
    trigger: Trigger
    find: Callable[[str], Path]
    tell: Callable[[str], None]
    overlap: Overlap = "skip"
    max_runs: int | None = None
    max_cost: float | None = None
    begun: str = ""
    spent: float = 0.0
    runs: int = 0
    _started: Started | None = None
    _session: Path | None = None
    _queued: bool = False
    _is_ending: bool = False
    _failed: int = 0
    _ends: set[int] = field(default_factory=set)

    def run(self) -> int:
        """Run until a limit or a signal; return the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, frame: self._ends.add(number))
        if self.begun:
            self.tell(self.begun)
        while not self._ends and not self._failed:
            self._end_finished_run()
            if self._session is None and (code := self._find_limit()) is not None:
                return code
            if self.trigger.is_due(self._session) or (self._queued and self._session is None):
                self._request_run()
            time.sleep(INTERVAL)
        if self._failed:
            return self._failed
        self._stop_run()
        self.tell(f"ended after {self.runs} run{'' if self.runs == 1 else 's'}")
        return int(Exit.INTERRUPTED)

    def _find_limit(self) -> int | None:
        """Return the exit code with which a limit ends the series, None if none is reached."""
        if self.max_runs is not None and self.runs >= self.max_runs:
            self.tell(f"{self.runs} of {self.max_runs} runs made (--max-runs)")
            return int(Exit.DONE)
        if self.max_cost is not None and self.spent and self.spent >= self.max_cost:
            self.tell(f"${self.spent:.4f} spent of ${self.max_cost:g} (--max-cost)")
            return int(Exit.LIMIT)
        return None

    def _request_run(self) -> None:
        if self._session is None:
            self._start_run()
        elif self.overlap == "skip":
            self.tell("skipped: the run before is still at work")
        elif self.max_runs is None or self.runs < self.max_runs:
            self._queued = True
            if self.overlap == "stop" and not self._is_ending:
                self._is_ending = True
                self.tell("stopped: another run is due")
                self._send_end()

    def _start_run(self) -> None:
        self._queued = self._is_ending = False
        left = [] if self.max_cost is None else ["--max-cost", f"{self.max_cost - self.spent:.6f}"]
        prompt = self.trigger.format_prompt(self.prompt)
        started = start_detached(["run", *self.options, *left, "--", prompt])
        if not started.session:
            self.tell(started.errors.strip())
            self._failed = started.code
            return
        self.runs += 1
        self._started, self._session = started, self.find(started.session)
        self.tell(f"run {self.runs}: {started.session}")

    def _end_finished_run(self) -> None:
        """Report a run that has ended; its process is waited for."""
        if self._session is None or self._started is None or self._started.process.poll() is None:
            return
        session, self._session = self._session, None
        end, usage = read_last_end(session), UsageReport()
        with LogTail(session) as tail:
            for event in tail.read_events():
                usage.handle_event(event)
        cost = usage.total.usage.cost
        self.spent += cost or 0.0
        told = "died" if end is None else end.outcome
        paid = "" if cost is None else f", ${cost:.4f}"
        self.tell(f"run {self.runs}: {told}{paid}")
        if self.trigger.end_run(session) and self.overlap != "skip":
            self._queued = True

    def _stop_run(self) -> None:
        if self._session is not None and self._started is not None:
            self._send_end()
            self._started.process.wait()
            self._end_finished_run()

    def _send_end(self) -> None:
        try:
            if self._session is not None:
                send_signal(self._session, signal.SIGTERM)
        except UserError:  # it has just ended
            return


@dataclass(slots=True, kw_only=True)
class Clock:
    """A run is due at once, and then after each interval. Implements `Trigger`."""

    every: float
    _next: float = field(default_factory=time.monotonic)

    def is_due(self, session: Path | None) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = max(self._next + self.every, now)  # a machine that slept makes up for nothing
        return True

    def end_run(self, session: Path) -> bool:
        return False

    def format_prompt(self, prompt: str) -> str:
        return prompt
