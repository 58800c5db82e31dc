"""The baseline: both workers started, and what the tests do before any patch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from tools.repair.server import Job, Message, Replies, Worker
from tools.repair.spectrum import Spectrum, load
from tools.workspace import Workspace


@dataclass(slots=True, kw_only=True)
class Baseline:
    """How the tests stand, with the workers that found it out still at hand.

    problem: why there is no spectrum
    collecting: wall seconds from the worker's start to the collected tests
    """

    spectrum: Spectrum
    errors: Sequence[Message] = ()
    problem: str = ""
    collecting: float = 0.0


async def baseline(
    at: Workspace, stack: AsyncExitStack, job: Job, replies: Replies, unsteady: frozenset[str] = frozenset()
) -> tuple[Baseline, dict[str, Worker]]:
    """Start both workers and wait for the trace."""
    warm = await stack.enter_async_context(Worker(at, job, "warm", replies))
    cold = await stack.enter_async_context(Worker(at, job, "cold", replies))
    workers = {"warm": warm, "cold": cold}
    nothing = Spectrum(tests=(), imported={}, complete=False)
    begun = time.monotonic()
    collected = await replies.expect("collected", job.seconds)
    if collected is None or collected["kind"] != "collected":
        problem = (collected or {}).get("message") or warm.output or "collecting the tests took too long"
        return Baseline(spectrum=nothing, problem=problem), workers
    collecting = time.monotonic() - begun
    traced = await replies.expect("traced", job.seconds - collecting)
    if traced is None or traced["kind"] != "traced":
        problem = warm.output or "tracing the tests took too long"
        return Baseline(spectrum=nothing, errors=collected["errors"], problem=problem), workers
    try:
        spectrum = load(warm.records, collected["ids"], collected["files"], traced["imported"], unsteady)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"what was noted of the tests cannot be read ({type(error).__name__})"
        return Baseline(spectrum=nothing, problem=problem), workers
    return Baseline(spectrum=spectrum, errors=collected["errors"], collecting=collecting), workers
