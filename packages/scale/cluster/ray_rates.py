"""Rate limits over a cluster: one actor has the buckets, and each node leases the calls of its processes from it."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.model.rate_limits.leased_buckets import (
    LeaseRequest,
    decode_lease_request,
    locate_leases,
    serve_leases,
)
from agent.model.rate_limits.token_bucket import TokenBuckets
from patchwright.version import VERSION
from sandbox.fs.private_files import create_private_folder

NAMESPACE = "patchwright"

_NAME = f"rate-limits-{VERSION}"
"""Of the actor: runs of the same version share it."""

_ANSWER_SECONDS = 60.0
"""For an answer of the actor, its start included."""

UNUSED_SECONDS = 600.0
"""Without a question after which the actor ends."""


_MOST_ASKERS = 10_000
"""Nodes whose last answer is kept, for a question that comes again: those that asked last."""


class RateKeeper:
    """The buckets of a cluster, in one actor. Not even a run that dies takes it along.

    unused_seconds: without a question after which it is unused
    """

    def __init__(self, unused_seconds: float = UNUSED_SECONDS) -> None:
        self._unused_seconds = unused_seconds
        self._buckets = TokenBuckets()
        self._answers: dict[str, tuple[int, list[float]]] = {}
        self._asked = time.monotonic()

    def grant(self, fields: Mapping[str, Any]) -> list[float]:
        """Answer a node: for each of its calls the seconds that it has to wait, 0.0 if it may be sent.

        The answer to a question that is sent again is the one that did not arrive: nothing is counted twice.
        """
        self._asked, now = time.monotonic(), time.time()
        request = decode_lease_request(fields)
        number, answer = self._answers.pop(request.asker, (0, []))
        if request.number != number or not number:
            answer = self._apply(request, now)
        self._answers[request.asker] = request.number, answer
        if len(self._answers) > _MOST_ASKERS:
            del self._answers[next(iter(self._answers))]
        return answer

    def _apply(self, request: LeaseRequest, now: float) -> list[float]:
        for charge in request.unused:
            self._buckets.give_back(charge, now)
        for charge, tokens in request.used:
            self._buckets.correct(charge, tokens, now)
        return [self._buckets.take(charge, now) for charge in request.calls]

    async def wait_until_unused(self) -> None:
        """Return when nobody has asked for long."""
        while (left := self._asked + self._unused_seconds - time.monotonic()) > 0:
            await asyncio.sleep(left)


async def serve_node(cache_folder: Path) -> None:
    """Lease calls for the processes of this node that have this folder, until cancelled. Only in a process of Ray."""
    ray = importlib.import_module("ray")
    keeper: list[Any] = []

    async def ask(request: LeaseRequest) -> Sequence[float] | None:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                if not keeper:
                    keeper.append(await asyncio.to_thread(find_keeper, ray))
                answer: list[float] = await keeper[0].grant.remote(request.encode())
                return answer
        except (
            ray.exceptions.RayError,
            ValueError,
            TimeoutError,
        ):  # it ended, or its node did: another one begins
            keeper.clear()
            return None

    await serve_leases(locate_leases(cache_folder), ask)


def prepare_node(cache_folder: Path) -> None:
    """Let the processes that have this folder lease their calls."""
    create_private_folder(locate_leases(cache_folder))


def find_keeper(ray: Any, name: str = _NAME, unused_seconds: float = UNUSED_SECONDS) -> Any:
    """Return the actor of this cluster; start it if there is none."""

    class RateActor:
        """Defined here, so that it is sent as code: see `RayCluster.start_actor`."""

        def __init__(self, unused_seconds: float) -> None:
            importlib.import_module("patchwright.launcher").open_floors()
            from packages.scale.cluster.ray_rates import RateKeeper

            self.keeper = RateKeeper(unused_seconds)
            self.ending = asyncio.create_task(self.end())

        async def grant(self, fields: dict[str, Any]) -> list[float]:
            return self.keeper.grant(fields)

        async def end(self) -> None:
            await self.keeper.wait_until_unused()
            ray = importlib.import_module("ray")  # an actor that only exits is started again
            ray.kill(ray.get_runtime_context().current_actor, no_restart=True)

    options = {"name": name, "namespace": NAMESPACE, "lifetime": "detached", "get_if_exists": True}
    actor = ray.remote(RateActor).options(**options, num_cpus=0, max_restarts=-1, max_task_retries=0)
    return actor.remote(unused_seconds)
