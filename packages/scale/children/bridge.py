"""The process that is in the cluster for a session, and the lines of its children that go through it.

Ray stays out of the session's own process: its threads, its signal handlers, its output. A line begins with the number
of its child; an empty one ends it. Files (worktrees, patches, logs) go by a private folder of the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from agent.children.process import wire
from agent.children.process.process_executor import PipeChannel
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

PROGRAM = (
    "import sys; sys.path[:] = sys.argv[1:]; from packages.scale.children.bridge_process import main; main()"
)

_CONNECT_SECONDS = 180.0
"""For the cluster to be joined, and its nodes to be asked: Ray takes seconds to import, on a busy machine tens."""

_END_SECONDS = 30.0
"""For a child to be ended there: a node that does not answer is left alone."""

_LEAVE_SECONDS = 75.0
"""For the files of all children to be removed there, and the cluster to be left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOptions:
    """How a session uses a cluster.

    address: as of `RayCluster.connect`; run: id of this use; env: variables of the children, named by the user
    sandbox: as the settings name it; version: of this program
    """

    address: str
    run: str
    env: Mapping[str, str] = field(repr=False)
    sandbox: str
    version: str


class Bridge:
    """The process in the cluster. slots: children that the nodes take at once"""

    def __init__(self, channel: PipeChannel, folder: Path) -> None:
        self.slots = 0
        self.folder = folder
        self._channel = channel
        self._children: dict[int, RemoteChannel] = {}
        self._count = 0
        self._reading: asyncio.Task[None] | None = None
        self._how = ""

    @classmethod
    async def connect(cls, options: RemoteOptions, folder: Path) -> Bridge:
        """Join a cluster. Raises UserError. folder: private, for files that come and go"""
        bridge = cls(await PipeChannel.start(PROGRAM, folder), folder)
        try:
            await bridge._join(options)
        except BaseException:  # on any exception the process is ended, then the exception is raised again
            await bridge.close()
            raise
        return bridge

    def open_channel(self, parcel: Path) -> RemoteChannel:
        """Return a channel to a new child. parcel: archive of its files"""
        self._count += 1
        channel = RemoteChannel(self, self._count)
        self._children[self._count] = channel
        channel.write(wire.encode_message("open", parcel=str(parcel)))
        if self._how:
            channel.end(self._how)
        return channel

    def send(self, number: int, line: bytes) -> None:
        """Send a line of a child."""
        self._channel.write(b"%d %s" % (number, line))

    async def close(self) -> None:
        """Leave the cluster; all children there end."""
        if self._reading is not None:
            if not self._how:
                self.send(0, b"\n")
                await asyncio.wait([self._reading], timeout=_LEAVE_SECONDS)
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._channel.close()

    async def _join(self, options: RemoteOptions) -> None:
        fields = {name: getattr(options, name) for name in ("address", "run", "sandbox", "version")}
        self.send(0, wire.encode_message("connect", **fields, env=dict(options.env), folder=str(self.folder)))
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                line = await self._channel.read_line()
        except TimeoutError:
            raise UserError(
                Fault.CONFIGURATION, f"no answer of the cluster in {_CONNECT_SECONDS:.0f} s"
            ) from None
        answer = wire.decode_message(line.partition(b" ")[2]) or {}
        if answer.get("message") == "refused":
            raise UserError(Fault(answer["fault"]), answer["text"], answer["hint"])
        if answer.get("message") != "connected":
            how = await self._channel.close()
            raise UserError(Fault.CONFIGURATION, f"the connection to the cluster {how}")
        self.slots = int(answer["slots"])
        self._reading = asyncio.create_task(self._read_lines())

    async def _read_lines(self) -> None:
        try:
            while line := await self._channel.read_line():
                number, _, content = line.partition(b" ")
                child = self._children.get(int(number))
                if child is not None:
                    child.take_line(content)
        except ValueError:  # longer than a line can be: it is ours, and broken
            pass
        self._how = f"lost its connection to the cluster, which {await self._channel.close()}"
        for child in self._children.values():
            child.end(self._how)


class RemoteChannel:
    """Lines to and from a child on a node. Implements `Channel`."""

    def __init__(self, bridge: Bridge, number: int) -> None:
        self.number = number
        self._bridge = bridge
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._begun = asyncio.Event()
        self._ended = asyncio.Event()
        self._how = ""

    async def wait_until_begun(self) -> None:
        """Return when the child's files are on its node, which may have no free CPU for long, or when it has ended."""
        await self._begun.wait()

    async def read_line(self) -> bytes:
        if self._ended.is_set() and self._lines.empty():
            return b""
        return await self._lines.get()

    def write(self, line: bytes) -> None:
        if not self._ended.is_set():
            self._bridge.send(self.number, line)

    async def close(self) -> str:
        """End the child with all that runs there; return how it had ended before."""
        if not self._ended.is_set():
            self._bridge.send(self.number, b"\n")
            try:
                async with asyncio.timeout(_END_SECONDS):
                    await self._ended.wait()
            except TimeoutError:
                self.end("did not end in time")
        return self._how

    def take_line(self, line: bytes) -> None:
        """Pass on a line of the child."""
        self._begun.set()
        if line == BEGUN:
            return
        if line.startswith(_LOST):
            self.end(str((wire.decode_message(line) or {}).get("how", "")))
        else:
            self._lines.put_nowait(line)

    def end(self, how: str) -> None:
        """Note that no line comes any more. how: it ended, as a clause"""
        if not self._ended.is_set():
            self._how = how
            self._begun.set()
            self._ended.set()
            self._lines.put_nowait(b"")


BEGUN = wire.encode_message("begun")
"""First line of a child: it waits for its order."""

_LOST = b'{"message":"lost"'
