"""Baseline: start of the worker, and the tests' outcomes before any patch."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from packages.offline.repair.engine.validation.worker_process import (
    Job,
    Message,
    Replies,
    RequestPipe,
    WorkerProcess,
)
from packages.offline.repair.localize.coverage_spectrum import Spectrum, load_spectrum
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace


@dataclass(slots=True, kw_only=True)
class Baseline:
    """Outcomes of the tests, with the worker that measured them still running.

    problem: reason for a missing spectrum
    collecting: wall seconds from the worker's start to the collected tests
    """

    spectrum: Spectrum
    errors: Sequence[Message] = ()
    problem: str = ""
    collecting: float = 0.0


async def run_baseline(
    at: Workspace, stack: AsyncExitStack, job: Job, replies: Replies, unsteady: frozenset[str] = frozenset()
) -> tuple[Baseline, Mapping[str, RequestPipe]]:
    """Start the worker and wait for the trace; also return the pipes to its modes."""
    worker = await stack.enter_async_context(WorkerProcess(at, job, replies))
    workers = worker.requests
    nothing = Spectrum(tests=(), imported={}, complete=False)
    begun, started = time.monotonic(), replies.clock.now()
    collected = await replies.wait_for_kind("collected", job.seconds)
    if collected is None or collected["kind"] != "collected":
        problem = (collected or {}).get("message") or worker.output or "collecting the tests took too long"
        return Baseline(spectrum=nothing, problem=problem), workers
    collecting = time.monotonic() - begun
    traced = await replies.wait_for_kind("traced", job.seconds - (replies.clock.now() - started))
    if traced is None or traced["kind"] != "traced":
        problem = worker.output or "tracing the tests took too long"
        return Baseline(spectrum=nothing, errors=collected["errors"], problem=problem), workers
    try:
        spectrum = load_spectrum(
            worker.records, collected["ids"], collected["files"], traced["imported"], unsteady
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"what was noted of the tests cannot be read ({type(error).__name__})"
        return Baseline(spectrum=nothing, problem=problem), workers
    return Baseline(spectrum=spectrum, errors=collected["errors"], collecting=collecting), workers
