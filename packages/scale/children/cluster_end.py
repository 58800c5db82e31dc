"""The end of a bridge that is in the cluster: nodes that can run children, and an actor for each child."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from agent.children.process import wire
from packages.scale.children.child_actor import start_child_host
from packages.scale.cluster.node import HostSpec
from packages.scale.cluster.ray_cluster import RayCluster
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import write_private_file
from sandbox.lazy_dataclass import dataclass

_END_SECONDS = 60.0
"""For the nodes to remove the files of this session before they are left alone: see `ray_executor`."""

_PROBE_SECONDS = 90.0
"""For a node to say whether it can run children."""

Send = Callable[[int, bytes], None]
"""Sends a line of a child to its parent."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Node:
    """A node that can run children. open: of ours that run there; was_used: it has files of ours"""

    id: str
    name: str
    slots: int
    open: int = 0
    was_used: bool = False


@dataclass(slots=True, eq=False)
class _RemoteChild:
    """A child on a node. actor: None until its files are stored"""

    node: _Node
    actor: Any = None
    following: asyncio.Task[None] = field(init=False)


@dataclass(slots=True, eq=False)
class _Parcel:
    """The archive that came last. reference: to its content in the cluster"""

    path: str
    reference: asyncio.Task[Any]


class ClusterEnd:
    """Starts children on the nodes of a cluster, and passes on their lines.

    folder: of the files that come from the parent, or go there
    """

    def __init__(
        self, cluster: RayCluster, nodes: list[_Node], spec: HostSpec, folder: Path, send: Send
    ) -> None:
        self._cluster = cluster
        self._nodes = nodes
        self._spec = spec
        self._folder = folder
        self._send = send
        self._children: dict[int, _RemoteChild] = {}
        self._parcel: _Parcel | None = None

    @classmethod
    async def connect(cls, order: Mapping[str, Any], send: Send) -> ClusterEnd:
        """Join the cluster that an order names. Raises UserError: there is none, or no node can run children."""
        cluster = RayCluster.connect(order["address"])
        nodes, problems = await _find_nodes(cluster, order["sandbox"], order["version"])
        if not nodes:
            cluster.close()
            raise UserError(
                Fault.CONFIGURATION,
                f"no node of the cluster can run child sessions: {'; '.join(problems) or 'there is none'}",
                "Each node needs the same Patchwright, bubblewrap and a CPU.",
            )
        spec = HostSpec(run=order["run"], artifacts="", env=order["env"])
        return cls(cluster, nodes, spec, Path(order["folder"]), send)

    @property
    def slots(self) -> int:
        """Children that the nodes have CPUs for."""
        return sum(each.slots for each in self._nodes)

    def take_line(self, number: int, line: bytes) -> None:
        """Take a line of the parent: the first one of a child opens it, an empty one ends it."""
        child = self._children.get(number)
        if child is None:
            message = wire.decode_message(line) or {}
            if message.get("message") == "open":
                self._open_child(number, message["parcel"])
        elif line == b"\n":
            child.following.cancel()
        elif child.actor is not None:  # the first line of a parent comes after the child has begun
            child.actor.write.remote(line)

    async def close(self) -> None:
        """End all children, remove their files from the nodes, and leave the cluster."""
        following = [each.following for each in self._children.values()]
        for each in following:
            each.cancel()
        if self._parcel is not None:
            self._parcel.reference.cancel()
            following.append(self._parcel.reference)
        await asyncio.gather(*following, return_exceptions=True)
        removed = [
            self._cluster.remove_files(each.id, self._spec.run) for each in self._nodes if each.was_used
        ]
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await asyncio.gather(*removed, return_exceptions=True)
        self._cluster.close()

    def _open_child(self, number: int, parcel: str) -> None:
        """Start an actor on the node with the most free slots."""
        node = max(self._nodes, key=lambda each: each.slots - each.open)
        node.open += 1
        node.was_used = True
        child = self._children[number] = _RemoteChild(node)
        child.following = asyncio.create_task(self._follow(number, child, parcel))

    async def _store_parcel(self, path: str) -> Any:
        """Store an archive once for all children that begin with it. Raises OSError and the cluster's errors.

        The cluster frees it when another one is stored and all children of it have begun.
        """
        parcel = self._parcel
        if parcel is None or parcel.path != path or _has_failed(parcel.reference):
            storing = asyncio.create_task(asyncio.to_thread(self._put_file, path))
            parcel = self._parcel = _Parcel(path, storing)
        return await asyncio.shield(parcel.reference)

    def _put_file(self, path: str) -> Any:
        return self._cluster.store_bytes(Path(path).read_bytes())

    async def _follow(self, number: int, child: _RemoteChild, path: str) -> None:
        """Pass on the lines of a child until it ends, or its node does."""
        how = "was ended"
        failures: tuple[type[Exception], ...] = (OSError, MemoryError, *self._cluster.errors)
        try:
            try:
                parcel = await self._store_parcel(path)
            except failures as error:
                told = " ".join(str(error).split())[:200]
                how = f"got no files: {told or type(error).__name__}"
                return
            child.actor = start_child_host(self._cluster, child.node.id, self._spec)
            messages = child.actor.run.options(num_returns="streaming").remote(parcel)
            del parcel
            async for reference in messages:
                kind, value = await reference
                match kind:
                    case "line":
                        self._send(number, value)
                    case "patch":
                        write_private_file(self._folder / f"{number}.patch", value)
                    case "head":
                        write_private_file(self._folder / f"{number}.log", value)
                    case "logs":
                        write_private_file(self._folder / f"{number}.logs", value)
                    case _:
                        how = value.decode("utf-8", "replace")
        except self._cluster.errors as error:
            has_no_memory = self._cluster.has_run_out_of_memory(error)
            how = "had no memory left" if has_no_memory else f"went with its node {child.node.name}"
        finally:
            child.node.open -= 1
            if child.actor is not None:
                with suppress(*self._cluster.errors):
                    self._cluster.kill(child.actor)
            self._send(number, wire.encode_message("lost", how=how))


def _has_failed(storing: asyncio.Task[Any]) -> bool:
    return storing.done() and (storing.cancelled() or storing.exception() is not None)


async def _find_nodes(cluster: RayCluster, sandbox: str, version: str) -> tuple[list[_Node], list[str]]:
    """Return the nodes that can run children, and why the others cannot."""
    found = [
        _Node(
            id=id,
            name=str(values.get("NodeManagerAddress") or id[:8]),
            slots=int(values.get("Resources", {}).get("CPU", 0)),
        )
        for id, values in cluster.list_nodes().items()
    ]
    asked = [each for each in found if each.slots]

    async def ask(node: _Node) -> str:
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                return str(await cluster.probe(node.id, sandbox, version))
        except TimeoutError:
            return f"it does not answer in {_PROBE_SECONDS:.0f} s"
        except cluster.errors as error:
            return f"it does not answer ({type(error).__name__})"

    answers = await asyncio.gather(*map(ask, asked))
    able = [node for node, problem in zip(asked, answers, strict=True) if not problem]
    problems = [
        f"{node.name}: {problem}" for node, problem in zip(asked, answers, strict=True) if problem
    ] or [f"{each.name}: no CPU" for each in found]
    return able, problems
