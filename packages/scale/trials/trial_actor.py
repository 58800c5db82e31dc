"""The actor of a trial's host."""

from __future__ import annotations

import importlib
from typing import Any

from packages.scale.cluster.node import HostSpec
from packages.scale.cluster.ray_cluster import RayCluster


def start_trial_host(cluster: RayCluster, node: str, spec: HostSpec, cpus: float) -> Any:
    """Start an actor that runs trials on a node, one at a time."""

    class TrialActor:
        """Defined here, so that it is sent as code: see `RayCluster.start_actor`."""

        def __init__(self, spec: dict[str, Any]) -> None:
            importlib.import_module("patchwright.launcher").open_floors()
            from packages.scale.cluster.node import HostSpec
            from packages.scale.trials.ray_host import TrialHost

            self.host = TrialHost(HostSpec(**spec))

        async def run(self, values: dict[str, Any]) -> Any:
            async for message in self.host.run(values):
                yield message

        async def close(self, *, removes_all: bool) -> None:
            await self.host.close(removes_all=removes_all)

    return cluster.start_actor(TrialActor, node, spec, cpus=cpus, concurrency=4)
