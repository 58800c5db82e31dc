"""Run candidate programs on inputs, each in a sandboxed process of its own, so that none can affect another."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json
from sandbox.process.command import Command, Limits, Sandbox
from sandbox.process.output_capture import HEAD

WORKER = Path(__file__).with_name("program_worker.py")

MOST_OUTPUT = 16 << 20
"""Bytes of a worker's answer: some thousand results, each of at most a few KB."""

Result = tuple[Any, ...]
"""("value", description, printed), ("raised", exception type, printed), ("timeout",), ("died",) or ("unrun",)."""

LOST: Result = ("died",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A candidate as a program to run.

    source: its text, unless module names a module below root
    function: the one that is called
    """

    name: str
    function: str
    source: str = ""
    root: Path | None = None
    module: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Limits of one program: processor seconds for loading, each call and each check, losses (hangs, exits) until it
    is given up, bytes of memory, wall seconds in all."""

    load_seconds: float = 3.0
    call_seconds: float = 0.5
    check_seconds: float = 2.0
    losses: int = 4
    memory: int = 1 << 30
    seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramRun:
    """Results of one program, in the order of the calls and checks; seconds: wall time."""

    calls: Sequence[Result]
    checks: Sequence[bool]
    seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class ProgramRunner:
    """Runs programs in a sandbox, a few at a time.

    folder: where commands start; python: the interpreter; jobs: how many run at a time
    hash_seed: of the order in which sets of texts are walked
    exact: results are digests of the returned value and the arguments afterwards, equal only where nothing differs
    runs, seconds: what it has started so far, and the wall time of these processes
    """

    sandbox: Sandbox
    folder: Path
    python: str = sys.executable
    limits: RunLimits = field(default_factory=RunLimits)
    jobs: int = 2
    hash_seed: int = 0
    exact: bool = False
    runs: int = 0
    seconds: float = 0.0

    async def run_programs(
        self, programs: Sequence[Program], calls: Sequence[str], checks: Sequence[str] = ()
    ) -> list[ProgramRun]:
        """Run every program on every input.

        calls: arguments as text of a Python literal: ([positional, …], {name: value, …})
        checks: statements that raise nothing if they hold
        """
        gate = asyncio.Semaphore(self.jobs)

        async def run_gated(program: Program) -> ProgramRun:
            async with gate:
                return await self.run_program(program, calls, checks)

        return list(await asyncio.gather(*map(run_gated, programs)))

    async def run_program(
        self, program: Program, calls: Sequence[str], checks: Sequence[str] = ()
    ) -> ProgramRun:
        """Run one program on every input."""
        started = time.monotonic()
        output = _BoundedOutput()
        await self.sandbox.run(self._build_command(program, calls, checks), output.add)
        seconds = time.monotonic() - started
        self.runs += 1
        self.seconds += seconds
        reply = _read_reply(bytes(output.data))
        found = [tuple(each) for each in reply.get("calls", ())] if reply else []
        passed = [bool(each) for each in reply.get("checks", ())] if reply else []
        return ProgramRun(
            calls=[*found[: len(calls)], *[LOST] * (len(calls) - len(found))],
            checks=[*passed[: len(checks)], *[False] * (len(checks) - len(passed))],
            seconds=seconds,
        )

    def _build_command(self, program: Program, calls: Sequence[str], checks: Sequence[str]) -> Command:
        limits = self.limits
        job = {
            "source": program.source,
            "function": program.function,
            "root": str(program.root or ""),
            "module": program.module,
            "calls": list(calls),
            "checks": list(checks),
            "load_seconds": limits.load_seconds,
            "call_seconds": limits.call_seconds,
            "check_seconds": limits.check_seconds,
            "most_losses": limits.losses,
            "exact": self.exact,
            "memory": limits.memory,
        }
        shown = (WORKER,) if program.root is None else (WORKER, program.root)
        return Command(
            argv=(self.python, "-B", "-s", str(WORKER)),
            cwd=self.folder,
            env={
                "PYTHONHASHSEED": str(self.hash_seed),
                "PYTHONDONTWRITEBYTECODE": "1",
                "OMP_NUM_THREADS": "1",
            },
            stdin=json.dumps(job).encode(),
            timeout=limits.seconds,
            stderr="separate",
            scope="read-only",
            readable=shown,
            limits=Limits(memory=limits.memory, total_memory=2 * limits.memory, processes=32, open_files=256),
            whole=HEAD,
        )


def _read_reply(output: bytes) -> dict[str, Any]:
    """Return the worker's answer; {} if the program ended it, or wrote into its output."""
    try:
        reply = parse_json(output)
    except ValueError:  # killed, or not ours
        return {}
    return reply if isinstance(reply, dict) else {}


@dataclass(slots=True)
class _BoundedOutput:
    """The first bytes of an output."""

    data: bytearray = field(default_factory=bytearray)

    def add(self, chunk: bytes) -> None:
        self.data += chunk[: max(0, MOST_OUTPUT - len(self.data))]
