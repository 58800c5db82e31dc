"""Children on the nodes of a cluster: the worktree goes there, events, patch and log come back."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import shutil
import tarfile
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.children.executor import CRASHED, ChildOrder
from agent.children.places import OpenPlace
from agent.children.process.line_execution import LineExecution
from agent.events import ChildProgress, End, Event, render_event
from agent.exit_codes import Exit
from agent.session.received_sessions import take_sessions
from packages.scale.children.bridge import Bridge, RemoteChannel, RemoteOptions
from packages.scale.children.parcel import pack_files
from packages.scale.cluster.archives import unpack_folder
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import create_private_folder, open_private, write_private_file
from sandbox.fs.regular_file import SOURCE, read_regular_file

if TYPE_CHECKING:
    from agent.app_dirs import Home
    from agent.budget.purse import Purse
    from agent.session_settings import SessionSettings

_PREFIX = "remote-"


@asynccontextmanager
async def connect_cluster(
    address: str, names: Sequence[str], env: Mapping[str, str], sandbox: str, home: Home
) -> AsyncIterator[RemoteExecutor]:
    """Join a cluster for a while. Raises UserError. names: variables of `env` that children have there, no others"""
    from patchwright.version import VERSION

    if missing := [name for name in names if name not in env]:
        raise UserError(Fault.USAGE, f"there is no variable {missing[0]!r} for the nodes of the cluster")
    options = RemoteOptions(
        address=address,
        run=uuid.uuid4().hex,
        env={name: env[name] for name in names},
        sandbox=sandbox,
        version=VERSION,
    )
    folder, lock = _create_locked_folder(home.cache)
    try:
        bridge = await Bridge.connect(options, folder)
        try:
            yield RemoteExecutor(bridge, options)
        finally:
            await bridge.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


class RemoteExecutor:
    """Runs children on the nodes of a cluster. Implements `Executor`.

    A child has the files of its worktree there, as one commit; nothing of its history, and no variable but the named
    ones. Budget and questions stay with its parent. When its node goes, it has crashed: calls under way count.
    """

    def __init__(self, bridge: Bridge, options: RemoteOptions) -> None:
        self.slots = bridge.slots
        self._bridge = bridge
        self._options = options
        self._packing = asyncio.Lock()

    async def start(self, order: ChildOrder) -> RemoteExecution:
        place = order.place
        if place is None or place.top is None:
            raise UserError(Fault.USAGE, "a child on another machine works in a worktree")
        async with self._packing:
            parcel = await asyncio.to_thread(self._pack, place)
        channel = self._bridge.open_channel(parcel)
        await _wait_for_node(channel, order.purse.compute_seconds_left())
        spool = self._bridge.folder / f"{channel.number}.log"
        sent = replace(
            order,
            settings=fit_settings(order.settings, order.purse),
            request=replace(
                order.request,
                working=order.request.working.relative_to(place.top),
                env=self._options.env,
                servers={},
                sessions=None,
            ),
            on_event=_Spool(spool, order).take_event,
        )
        line = await LineExecution.connect(channel, sent)
        return RemoteExecution(line, channel, place, order, self._bridge.folder)

    def _pack(self, place: OpenPlace) -> Path:
        """Write the files of a worktree as an archive; equal worktrees are one archive, which travels once."""
        coming = self._bridge.folder / ".coming"
        assert place.top is not None
        pack_files(place.top, place.list_files(), coming)
        with coming.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return coming.rename(self._bridge.folder / f"{digest}.tgz")


def fit_settings(settings: SessionSettings, purse: Purse) -> SessionSettings:
    """Return the settings of a child on a node: no servers, and not more time than its parent has left, which the
    clock of the node does not know."""
    left = min(settings.limits.max_time, purse.compute_seconds_left())
    return replace(
        settings,
        limits=replace(settings.limits, max_time=left),
        tools=replace(settings.tools, mcp={}),
    )


class RemoteExecution:
    """A child session on a node. Implements `Execution`.

    Its changes are brought into the worktree here after each turn. The worktree is its own: changes that others make
    here between two turns do not reach it.
    """

    def __init__(
        self, line: LineExecution, channel: RemoteChannel, place: OpenPlace, order: ChildOrder, folder: Path
    ) -> None:
        self.runtime = None
        self.session = line.session
        self._line = line
        self._place = place
        self._sessions = order.request.sessions
        self._parent = order.request.parent
        self._patch = folder / f"{channel.number}.patch"
        self._logs = folder / f"{channel.number}.logs"
        self._spool = folder / f"{channel.number}.log"

    async def run_turn(self, prompt: str | None) -> End:
        end = await self._line.run_turn(prompt)
        try:
            await asyncio.to_thread(self._bring_back)
        except (UserError, OSError) as error:
            summary = f"its changes could not be brought back: {error}"
            failed: Event = End(outcome=CRASHED, exit_code=Exit.INTERNAL, summary=summary, usage=end.usage)
            assert isinstance(failed, End)
            return failed
        return end

    def steer(self, text: str) -> None:
        self._line.steer(text)

    def stop(self) -> None:
        self._line.stop()

    async def close(self) -> None:
        try:
            await self._line.close()
        finally:
            await asyncio.to_thread(self._keep_logs)

    def _bring_back(self) -> None:
        """Apply the changes of a turn here. Blocking. Raises UserError."""
        patch = read_regular_file(self._patch, SOURCE)
        if patch:
            self._patch.unlink()
            self._place.apply_patch(patch)

    def _keep_logs(self) -> None:
        """Put the logs of the session, and of its own children, where those of its parent are. Blocking.

        Of a node that is gone there is the part of the log that has come.
        """
        if self._sessions is None:
            return
        with tempfile.TemporaryDirectory(dir=self._sessions, prefix=".coming-") as making:
            coming, part = Path(making, "sessions"), Path(making, "part")
            with suppress(UserError, OSError, tarfile.TarError):
                unpack_folder(self._logs, coming)
            taken = take_sessions(coming, self._sessions, self.session, self._parent)
            if self.session not in taken and (log := read_regular_file(self._spool, SOURCE)):
                create_private_folder(part / self.session)
                write_private_file(part / self.session / "log.jsonl", log)
                take_sessions(part, self._sessions, self.session, self._parent)


async def _wait_for_node(channel: RemoteChannel, seconds: float) -> None:
    """Wait until a child has begun on a node: what else runs there may hold all CPUs. Raises UserError.

    seconds: that are left of the turn
    """
    try:
        async with asyncio.timeout(seconds):
            await channel.wait_until_begun()
    except BaseException as error:  # on any exception the child is ended, then the exception is raised again
        await channel.close()
        if isinstance(error, TimeoutError):
            how = f"the child session did not begin in {seconds:.0f} s: no node had a CPU for it"
            raise UserError(Fault.CONFIGURATION, how) from None
        raise


def _create_locked_folder(cache: Path) -> tuple[Path, int]:
    """Create a folder for files that come and go, locked by a descriptor; remove those of killed processes."""
    create_private_folder(cache)
    for left in cache.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # gone, or in use
            lock = _lock_folder(left)
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)
    made = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=cache))
    lock = _lock_folder(made)
    return made.rename(cache / f"{_PREFIX}{uuid.uuid4().hex}"), lock


def _lock_folder(folder: Path) -> int:
    """Return a descriptor that locks a folder. Raises OSError."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise
    return held


class _Spool:
    """Keeps a child's events in a file as they come."""

    def __init__(self, file: Path, order: ChildOrder) -> None:
        self._file = file
        self._follow = order.on_event

    def take_event(self, session: str, event: Event) -> None:
        if not isinstance(event, ChildProgress):  # shown, not logged
            with open(self._file, "ab", opener=open_private) as file:
                file.write(render_event(event))
        self._follow(session, event)
