"""The far end of a remote child: one actor of a node, with the session in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import uuid
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath
from typing import Any

from agent.app_dirs import Home, make_private_folder
from agent.children.process import wire
from agent.children.process.process_executor import PROGRAM, PipeChannel
from packages.scale.children.bridge import BEGUN
from packages.scale.children.parcel import CopiedWorktree
from packages.scale.cluster.archives import pack_folder
from packages.scale.cluster.node import PASSED_ON, HostSpec, locate_run_folder
from sandbox.errors import UserError
from sandbox.fs.private_files import write_private_file
from sandbox.fs.regular_file import SOURCE, read_regular_file

_ENDED, _READY = b'{"message":"ended"', b'{"message":"ready"'


class ChildHost:
    """Runs one child session for a parent on another machine. Its messages are pairs of a kind and bytes."""

    def __init__(self, spec: HostSpec) -> None:
        run_folder = make_private_folder(locate_run_folder(spec.run))
        self._root = make_private_folder(run_folder / "hosts" / uuid.uuid4().hex)
        self._home = Home(
            data=self._root / "data",
            config=self._root / "config",
            cache=make_private_folder(run_folder / "cache"),
        )
        self._sessions = self._root / "sessions"
        kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self._env = {**kept, **spec.env}
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    def write(self, line: bytes) -> None:
        """Take a line of the parent."""
        self._lines.put_nowait(line)

    async def run(self, parcel: bytes) -> AsyncIterator[tuple[str, bytes]]:
        """Run the session that the first line orders. Yields "line" for `BEGUN` and each of its lines, "patch" before a
        turn's last one, "head" once: its log so far; last "logs", and "lost": how it ended."""
        helpers: list[asyncio.Task[None]] = []
        try:
            worktree = await asyncio.to_thread(self._unpack, parcel)
            yield "line", BEGUN
            order = wire.decode_message(await self._lines.get()) or {}
            start = self._localize(order, worktree.folder)
            if order["settings"]["models"]["limits"]:
                from packages.scale.cluster.ray_rates import prepare_node, serve_node

                prepare_node(self._home.cache)
                helpers.append(asyncio.create_task(serve_node(self._home.cache)))
            channel = await PipeChannel.start(PROGRAM, worktree.folder, self._env)
        except UserError as error:
            fields = {"fault": error.fault, "text": f"node {socket.gethostname()}: {error.message}"}
            yield "line", wire.encode_message("refused", **fields, hint=error.hint)
            yield "lost", b"was refused"
            return
        how = ""
        try:
            channel.write(start)
            helpers.append(asyncio.create_task(self._pass_lines(channel)))
            async for message in self._follow_session(channel, worktree):
                yield message
        except (ValueError, UserError) as error:
            how = f"ended: {error}"
        finally:
            for each in helpers:
                each.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
            how = how or await channel.close()
        yield "logs", await asyncio.to_thread(self._pack_logs)
        await asyncio.to_thread(shutil.rmtree, self._root, ignore_errors=True)
        yield "lost", how.encode()

    async def _follow_session(
        self, channel: PipeChannel, worktree: CopiedWorktree
    ) -> AsyncIterator[tuple[str, bytes]]:
        while line := await channel.read_line():
            if line.startswith(_ENDED):
                yield "patch", await asyncio.to_thread(worktree.build_patch)
            elif line.startswith(_READY):
                session = str((wire.decode_message(line) or {})["session"])
                log = self._sessions / PurePosixPath(session).name / "log.jsonl"
                head = await asyncio.to_thread(read_regular_file, log, SOURCE)
                yield "head", head or b""
            yield "line", line

    def _unpack(self, parcel: bytes) -> CopiedWorktree:
        packed = self._root / "parcel.tar"
        write_private_file(packed, parcel)
        worktree = CopiedWorktree(self._root / "work", packed)
        packed.unlink()
        return worktree

    def _localize(self, order: dict[str, Any], folder: Path) -> bytes:
        """Return the order with folders of this node."""
        inner = PurePosixPath(order["working"])
        is_inside = not inner.is_absolute() and ".." not in inner.parts and (folder / inner).is_dir()
        home = {name: str(getattr(self._home, name)) for name in ("data", "config", "cache")}
        fields = {
            **order,
            "working": str(folder / inner if is_inside else folder),
            "home": home,
            "sessions": str(make_private_folder(self._sessions)),
        }
        return json.dumps(fields, separators=(",", ":")).encode() + b"\n"

    async def _pass_lines(self, channel: PipeChannel) -> None:
        while True:
            channel.write(await self._lines.get())

    def _pack_logs(self) -> bytes:
        packed = self._root / "logs.tgz"
        pack_folder(self._sessions, packed)
        return packed.read_bytes()
