"""Client side of a worker: start it in the sandbox, send candidates over a named pipe, read its replies."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packages.offline.repair.engine.validation.budget_clock import JOBS, LONGEST, BudgetClock
from sandbox.errors import UserError
from sandbox.fs.private_files import write_private_file
from sandbox.lazy_dataclass import dataclass
from sandbox.process.command import Command, Completed, Limits
from sandbox.process.output_capture import HEAD
from tools.core.workspace import Workspace
from tools.shell.environment import python_environment

Message = dict[str, Any]
# "warm" tries changes in modules that are imported already, "cold" in new test sessions.
MODES = ("warm", "cold")

WORKER = Path(__file__).parents[2] / "patchwright_worker"
# CPU seconds after which a test counts as endless, if those before it used no more; the same for a named one.
SLOW, SLOW_NAMED = 1.5, 20.0
# Delay between a full pipe and the worker's next read; it reads between two children.
_PIPE_PAUSE = 0.002
# Minimum wall seconds between two checks of the time.
_SHORTEST_WAIT = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Configuration of a worker.

    overlay: text that replaces files on disk, by path relative to the root: earlier fixes
    arguments: test files to collect; empty for all
    named: tests that are known to fail: they are few, and worth more time to distinguish slow from endless
    why: the tests whose first failure is traced back; all of them if it contains ""; none if empty
    check: run the tests plainly as well, to detect unsteady ones
    seconds: of the repair's clock, after which the worker is of no more use
    trace_seconds: wall seconds for the baseline; tests not run by then stay unknown
    """

    python: str
    python_path: Sequence[str]
    overlay: Mapping[str, str]
    arguments: Sequence[str]
    named: Sequence[str]
    check: bool
    why: Sequence[str] = ()
    trace_seconds: float
    seconds: float


class Replies:
    """Messages of the workers in order of arrival; each has the mode it is `from`.

    clock: the clock of deadlines; it is given the workers' CPU time
    """

    def __init__(self, clock: BudgetClock | None = None) -> None:
        self.clock = clock or BudgetClock()
        self._queue: asyncio.Queue[Message] = asyncio.Queue()
        self._spent: dict[str, float] = {}

    @property
    def cpu(self) -> float:
        """CPU seconds that the workers have used, as far as reported."""
        return sum(self._spent.values())

    def put(self, message: Message) -> None:
        if "spent" in message:
            before = self._spent.get(message["from"], 0.0)
            self._spent[message["from"]] = message["spent"]
            self.clock.add_worker_seconds(message["spent"] - before)
        self._queue.put_nowait(message)

    async def next(self, seconds: float) -> Message | None:
        """Return the next message; None when the time is over."""
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                return await self._queue.get()
        except TimeoutError:  # the caller's budget is spent
            return None

    async def wait_until(self, deadline: float) -> Message | None:
        """Return the next message; None when the clock reaches the deadline."""
        while (left := deadline - self.clock.now()) > 0:
            message = await self.next(max(left, _SHORTEST_WAIT))
            if message is not None:
                return message
        return None

    async def wait_for_kind(self, kind: str, seconds: float) -> Message | None:
        """Return the next message of this kind, or the one that reports why none will come; seconds of the clock."""
        deadline = self.clock.now() + seconds
        while (message := await self.wait_until(deadline)) is not None:
            if message["kind"] in (kind, "failed", "ended"):
                return message
        return None


class RequestPipe:
    """Request pipe to one mode of a worker: a named pipe, open from start to close."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path, 0o600)
        self.path = path
        # Open for both ends, so that opening never blocks; when this process ends the worker sees the end of
        # the pipe.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.ended = False

    async def send(self, message: Message) -> None:
        data = json.dumps(message).encode() + b"\n"
        while data:
            try:
                data = data[os.write(self._pipe, data) :]
            except BlockingIOError:  # the pipe is full: the worker will read on
                if self.ended:
                    return
                await asyncio.sleep(_PIPE_PAUSE)

    def close(self) -> None:
        os.close(self._pipe)


class WorkerProcess:
    """A worker process, from start to close. It serves both modes: one process starts, the other is its child."""

    def __init__(self, at: Workspace, job: Job, replies: Replies) -> None:
        self._at, self._job = at, job
        self._replies = replies
        self._rest = b""
        self._task: asyncio.Task[None] | None = None
        self.requests: dict[str, RequestPipe] = {}
        self.output = ""

    async def __aenter__(self) -> WorkerProcess:
        # The cache folder is patchwright's own, outside the workspace; a fresh folder in it for each worker.
        await asyncio.to_thread(self._at.folders.cache.mkdir, parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="repair-", dir=self._at.folders.cache))
        self.requests = {mode: RequestPipe(self.folder / mode) for mode in MODES}
        self._write_config()
        self._task = asyncio.create_task(self._run_process())
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in self.requests.values():
            each.close()
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait(
                    [self._task]
                )  # a cancellation of the search goes on: awaiting it would hide that
                if not self._task.cancelled():
                    self._task.result()  # its error, if it has one
        finally:
            await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    @property
    def records(self) -> Path:
        return self.folder / "records"

    def _write_config(self) -> None:
        job, root = self._job, self._at.root.resolve()
        config = {
            "root": str(root),
            "pipes": {mode: str(each.path) for mode, each in self.requests.items()},
            "lock": str(self.folder / "lock"),
            "records": str(self.records),
            "python_path": list(job.python_path),
            "overlay": {str(root / path): text for path, text in job.overlay.items()},
            "arguments": list(job.arguments),
            "jobs": JOBS,
            "trace_seconds": job.trace_seconds,
            "slow_seconds": min(SLOW_NAMED if job.named else SLOW, job.trace_seconds / 4),
            "check": job.check,
            "why": list(job.why),
            "named": list(job.named),
        }
        write_private_file(self.folder / "config", json.dumps(config).encode())

    async def _run_process(self) -> None:
        command = Command(
            argv=(self._job.python, str(WORKER), str(self.folder / "config")),
            cwd=self._at.root,
            env={**python_environment(), "PYTHONHASHSEED": "0", **self._build_hypothesis_variables()},
            timeout=self._job.seconds * LONGEST,
            stderr="separate",
            scope="read-only",
            readable=(WORKER,),
            writable=(self.folder,),
            limits=Limits(),
            whole=HEAD,
        )
        try:
            done = await self._at.sandbox.run(command, self._receive_output)
            self._note_end(done)
        except UserError as error:  # the interpreter cannot be started
            self.output = error.message
        finally:
            for each in self.requests.values():
                each.ended = True
            self._replies.put({"kind": "ended", "from": "warm"})

    def _build_hypothesis_variables(self) -> dict[str, str]:
        """Return a folder for Hypothesis's data, if the project has none: its tables would take seconds each time."""
        if (self._at.root / ".hypothesis").exists():
            return {}
        return {"HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / "hypothesis")}

    def _receive_output(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._replies.put(json.loads(line))

    def _note_end(self, done: Completed) -> None:
        self.output = done.stderr.text()[-2000:]
