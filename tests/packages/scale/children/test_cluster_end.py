"""The end of a bridge in the cluster: files that cannot be sent cost one child, and are kept no longer than needed."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from agent.children.process import wire
from packages.scale.children.cluster_end import ClusterEnd, _Node
from packages.scale.cluster.node import HostSpec


class Stored:
    """Reference to bytes in the cluster."""


class StoreFull(Exception):
    """The store has no room."""


class Method:
    """A method of an actor."""

    def __init__(self, call: Any) -> None:
        self.remote = call

    def options(self, **options: Any) -> Method:
        return self


class Host:
    """An actor that sends one line."""

    def __init__(self) -> None:
        self.run = Method(self._run)
        self.write = Method(lambda line: None)

    async def _run(self, parcel: Any) -> AsyncIterator[Any]:
        for message in (("line", b"begun\n"), ("lost", b"ended")):
            coming = asyncio.get_running_loop().create_future()
            coming.set_result(message)
            yield coming


class Cluster:
    """Stores bytes as Ray does: in memory, without room for the first ones. Two threads never store at once."""

    errors = (StoreFull,)

    def __init__(self) -> None:
        self.stored: list[weakref.ref[Stored]] = []
        self.refused = 0
        self.threads: set[int] = set()

    def store_bytes(self, content: bytes) -> Stored:
        self.threads.add(threading.get_ident())
        if not self.refused:
            self.refused += 1
            raise StoreFull("no room\nfor it")
        made = Stored()
        self.stored.append(weakref.ref(made))
        return made

    def start_actor(self, actor: type, node: str, spec: HostSpec, **options: float) -> Host:
        return Host()

    def kill(self, actor: Host) -> None:
        pass

    def has_run_out_of_memory(self, error: Exception) -> bool:
        return False

    def remove_files(self, node: str, run: str) -> asyncio.Future[None]:
        removed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        removed.set_result(None)
        return removed

    def close(self) -> None:
        pass


def test_files_that_cannot_be_sent_cost_one_child(tmp_path: Path) -> None:
    for name in ("a.tgz", "b.tgz"):
        (tmp_path / name).write_bytes(b"files")
    cluster, told = Cluster(), dict[int, list[bytes]]()

    async def play() -> None:
        node = _Node(id="n", name="n", slots=4)
        spec = HostSpec(run="r", artifacts="", env={})

        def send(number: int, line: bytes) -> None:
            told.setdefault(number, []).append(line)

        end = ClusterEnd(cluster, [node], spec, tmp_path, send)  # type: ignore[arg-type]

        async def open_children(*parcels: str) -> None:
            first = len(end._children) + 1
            for number, parcel in enumerate(parcels, first):
                end.take_line(number, wire.encode_message("open", parcel=str(tmp_path / parcel)))
            await asyncio.gather(
                *(end._children[each].following for each in range(first, first + len(parcels)))
            )

        await open_children("a.tgz")
        await open_children("gone.tgz")
        await open_children("a.tgz", "a.tgz")
        assert len(cluster.stored) == 1, "once for equal files"
        assert cluster.stored[0]() is not None
        await open_children("b.tgz")
        gc.collect()
        assert cluster.stored[0]() is None
        assert node.open == 0
        await end.close()

    asyncio.run(asyncio.wait_for(play(), 60))
    assert threading.get_ident() not in cluster.threads
    assert told[1] == [wire.encode_message("lost", how="got no files: no room for it")]
    assert b"got no files" in told[2][-1]
    for number in (3, 4, 5):
        assert told[number] == [b"begun\n", wire.encode_message("lost", how="ended")]
