"""Child sessions in processes of their own: a crash ends the child and nothing else."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from agent.children.executor import ChildOrder
from agent.children.process.line_execution import LineExecution
from agent.children.process.wire import LONGEST
from sandbox.errors import Fault, UserError
from sandbox.helpers.git_runner import strip_git_variables
from sandbox.helpers.own_programs import drop_planted_libraries
from sandbox.process.process_tree import adopt_orphans, kill_commands_of
from sandbox.process.watchdog import start_watchdog, watch_group

PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from agent.children.process.entry import main; main()"

_TAIL = 2_000
"""Bytes of what a process wrote to standard error that explain its end."""

_MOST_UNSENT = 64 << 20
"""Bytes that wait for a process that does not read."""


class ProcessExecutor:
    """Runs each child in a process of its own. Implements `Executor`.

    program: Python code that serves the session, with the import path as its arguments
    """

    def __init__(self, program: str = PROGRAM) -> None:
        self._program = program

    async def start(self, order: ChildOrder) -> LineExecution:
        channel = await PipeChannel.start(self._program, order.request.working)
        return await LineExecution.connect(channel, order)


class PipeChannel:
    """Pipes to a process of this program. Implements `Channel`."""

    def __init__(self, process: asyncio.subprocess.Process, watched: ExitStack) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self._input, self._output = process.stdin, process.stdout
        self._watched = watched
        self._errors = bytearray()
        self._draining = asyncio.create_task(self._drain(process.stderr))

    @classmethod
    async def start(cls, program: str, folder: Path, env: Mapping[str, str] | None = None) -> PipeChannel:
        """Start a program of ours: isolated from its environment and folder, in a group that dies with us.

        env: its whole environment; None: ours
        """
        floors = str(Path(__file__).resolve().parents[3])
        folders = [each for each in sys.path if os.path.isabs(each) and each != floors]  # noqa: PTH117 (strings)
        start_watchdog()
        adopt_orphans()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", "-c", program, floors, *folders),
                cwd=folder,
                env=_build_environment(folder) if env is None else env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                limit=LONGEST,
            )
        except OSError as error:
            what = f"no process could be started for a child session: {error.strerror}"
            raise UserError(Fault.CONFIGURATION, what) from None
        watched = ExitStack()
        watched.enter_context(watch_group(process.pid))
        return cls(process, watched)

    async def read_line(self) -> bytes:
        return await self._output.readline()

    def write(self, line: bytes) -> None:
        if self._input.transport.get_write_buffer_size() > _MOST_UNSENT:
            self._kill()  # it does not read
        elif not self._input.is_closing():
            self._input.write(line)

    async def close(self) -> str:
        """Kill the process and its commands; return how it had ended before."""
        if not self._output.at_eof():
            self._kill()
        code = await self._wait()
        await kill_commands_of(self.process.pid)
        self._watched.close()
        await asyncio.gather(self._draining, return_exceptions=True)
        self._input.close()
        told = bytes(self._errors).decode("utf-8", "replace").strip().splitlines()
        return f"{_describe_exit(code)}{f' ({told[-1][:300]})' if told else ''}"

    async def _wait(self) -> int:
        """Wait for the end; a process that closed its output and goes on is killed."""
        try:
            async with asyncio.timeout(_GRACE):
                return await self.process.wait()
        except TimeoutError:
            self._kill()
            return await self.process.wait()

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if self.process.returncode is None:
                os.killpg(self.process.pid, signal.SIGKILL)

    async def _drain(self, errors: asyncio.StreamReader) -> None:
        while piece := await errors.read(65536):
            self._errors += piece
            del self._errors[:-_TAIL]


_GRACE = 2.0


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal
        return f"was killed by signal {-code}"


def _build_environment(folder: Path) -> dict[str, str]:
    """Return our environment without what changes git, Python or this program: a child has its parent's settings."""
    kept = drop_planted_libraries(strip_git_variables(), folder)
    return {name: value for name, value in kept.items() if not name.startswith(("PYTHON", "PATCHWRIGHT_"))}
