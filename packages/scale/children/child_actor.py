"""The actor of a child's host."""

from __future__ import annotations

import importlib
from typing import Any

from packages.scale.cluster.node import HostSpec
from packages.scale.cluster.ray_cluster import RayCluster


def start_child_host(cluster: RayCluster, node: str, spec: HostSpec) -> Any:
    """Start an actor that runs a child session on a node; it begins with `run`, and lines come by `write`."""

    class ChildActor:
        """Defined here, so that it is sent as code: see `RayCluster.start_actor`."""

        def __init__(self, spec: dict[str, Any]) -> None:
            importlib.import_module("patchwright.launcher").open_floors()
            from packages.scale.children.child_host import ChildHost
            from packages.scale.cluster.node import HostSpec

            self.host = ChildHost(HostSpec(**spec))

        async def run(self, parcel: bytes) -> Any:
            async for message in self.host.run(parcel):
                yield message

        async def write(self, line: bytes) -> None:
            self.host.write(line)

    return cluster.start_actor(ChildActor, node, spec, cpus=1, concurrency=100)
